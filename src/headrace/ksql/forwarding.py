"""Has pull queries answered by the server that runs the queries."""

from __future__ import annotations

import json
import ssl
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from headrace.http.listening import is_loopback
from headrace.http.peers import ANSWER, PeerKey
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
    """Asks other servers. With a `token`, which all servers of a service have, they prove to each
    other that they are its servers; `certificate` is trusted besides those that all trust."""

    def __init__(self, token: str | None = None, certificate: Path | None = None) -> None:
        self._key = None if token is None else PeerKey(token)
        # No proxy is asked, and no other address than the one that was named.
        self._client = httpx.Client(
            headers={"Accept": _DELIMITED},
            timeout=_TIMEOUT_S,
            verify=_trust(certificate),
            trust_env=False,
        )

    def pull(self, url: str, request: QueryRequest, columns: Sequence[Column]) -> ResultStream[Row]:
        """The answer of the server at an address; its columns are those that are planned here."""
        body = {
            "sql": request.sql,
            "properties": dict(request.properties),
            "sessionVariables": dict(request.variables),
            "requestProperties": {**request.request_properties, SKIP: True},
        }
        address = urlsplit(url)
        if address.scheme == "http" and not is_loopback(address.hostname or ""):
            raise _failed(
                f"the server that runs the queries is at {url}, and over plain HTTP no other host "
                "is asked. Give it a certificate (server.certificate.file)."
            )
        nonce, headers = "", {}
        if self._key is not None:
            nonce, headers["Authorization"] = self._key.question(address.netloc)
        try:
            answer = self._client.post(
                f"{url.rstrip('/')}/query-stream", json=body, headers=headers
            )
        except httpx.HTTPError as error:
            raise _failed(f"the server that runs the queries can't be reached: {error}") from error
        lines = answer.text.splitlines()
        if answer.status_code == 401:
            raise _failed(
                "the server that runs the queries doesn't take this one for a server of the same "
                "service. Give all of them the same server.token."
            )
        if self._key is not None:
            proof = answer.headers.get(ANSWER, "")
            if not self._key.is_answered(proof, nonce, address.netloc):
                raise _failed(f"{url} has not proved to be a server of this service.")
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


def _trust(certificate: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if certificate is not None:
        context.load_verify_locations(certificate)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _message(line: str) -> str:
    try:
        content: Any = json.loads(line)
        return str(content["message"])
    except (ValueError, KeyError, TypeError):
        return "the server that runs the queries gave no answer."


def _failed(why: str) -> KsqlError:
    return KsqlError(ErrorCode.SERVER_ERROR, f"The query could not be answered: {why}")
