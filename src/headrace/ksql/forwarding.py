"""Has pull queries answered by the server that runs the queries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import httpx

from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.json_values import sql_value
from headrace.ksql.requests import QueryRequest
from headrace.ksql.results import ResultStream, Row
from headrace.sql.schema import Column

SKIP = "request.ksql.query.pull.skip.forwarding"
"""In a request between servers: answer it yourself, or not at all."""

_TIMEOUT_S = 30.0
_DELIMITED = "application/vnd.ksqlapi.delimited.v1"


class Forwarding:
    """Asks other servers. `headers` let us in there."""

    def __init__(self, headers: Mapping[str, str] | None = None) -> None:
        self._client = httpx.Client(
            headers={**(headers or {}), "Accept": _DELIMITED}, timeout=_TIMEOUT_S
        )

    def pull(self, url: str, request: QueryRequest, columns: Sequence[Column]) -> ResultStream[Row]:
        """The answer of the server at an address; its columns are those that are planned here."""
        body = {
            "sql": request.sql,
            "properties": dict(request.properties),
            "sessionVariables": dict(request.variables),
            "requestProperties": {**request.request_properties, SKIP: True},
        }
        try:
            answer = self._client.post(f"{url.rstrip('/')}/query-stream", json=body)
        except httpx.HTTPError as error:
            raise _failed(f"the server that runs the queries can't be reached: {error}") from error
        lines = answer.text.splitlines()
        if answer.is_error or not lines:
            raise _failed(_message(lines[0] if lines else ""))
        found: list[Row] = []
        for line in lines[1:]:
            content = json.loads(line, parse_float=Decimal)
            if isinstance(content, dict):
                raise _failed(str(content.get("message")))
            found.append(
                Row(
                    tuple(
                        [
                            sql_value(value, column.type)
                            for value, column in zip(content, columns, strict=True)
                        ]
                    )
                )
            )
        rows: ResultStream[Row] = ResultStream(capacity=len(found) + 1)
        for row in found:
            rows.put(row)
        rows.finish()
        return rows

    def close(self) -> None:
        self._client.close()


def _message(line: str) -> str:
    try:
        content: Any = json.loads(line)
        return str(content["message"])
    except (ValueError, KeyError, TypeError):
        return "the server that runs the queries gave no answer."


def _failed(why: str) -> KsqlError:
    return KsqlError(ErrorCode.SERVER_ERROR, f"The query could not be answered: {why}")
