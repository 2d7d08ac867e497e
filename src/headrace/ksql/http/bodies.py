"""Bodies of requests: JSON, checked, as requests of the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from starlette.requests import Request

from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.requests import QueryRequest, StatementsRequest

MAX_BODY = 1024 * 1024
"""Bytes of a request, and of a row in `/inserts-stream`."""

PATIENCE_S = 30.0
"""How long the body of a request may take."""

_KINDS: dict[type, str] = {str: "a string", dict: "an object", list: "an array", int: "a number"}


def bad_request(message: str) -> KsqlError:
    return KsqlError(ErrorCode.BAD_REQUEST, message)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that a request brings. Raises KsqlError if it is too large, or too slow."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return json_object(await _read(request))
    except TimeoutError:
        raise bad_request(f"The request did not come within {PATIENCE_S:g} seconds.") from None


async def _read(request: Request) -> bytes:
    announced = request.headers.get("content-length", "")
    size = int(announced) if announced.isdecimal() else 0
    if size > MAX_BODY:
        raise _too_large()
    chunks = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY:
            raise _too_large()
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large() -> KsqlError:
    return bad_request(f"A request may have {MAX_BODY:,} bytes, and this one has more.")


def json_object(data: bytes) -> dict[str, Any]:
    """A JSON object; numbers with a fraction are Decimals. Raises KsqlError if it isn't one."""
    try:
        content = json.loads(data, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise bad_request(f"Invalid JSON in request: {_why(error)}") from None
    if not isinstance(content, dict):
        raise bad_request("Invalid JSON in request: it must be an object")
    return content


def statements_request(body: Mapping[str, Any]) -> StatementsRequest:
    """What `/ksql` is asked."""
    return StatementsRequest(
        **_parts(body, "ksql", "streamsProperties"),
        sequence_number=member(body, "commandSequenceNumber", int),
    )


def query_request(body: Mapping[str, Any]) -> QueryRequest:
    """What `/query` is asked."""
    return QueryRequest(**_parts(body, "ksql", "streamsProperties"))


def query_stream_request(body: Mapping[str, Any]) -> QueryRequest:
    """What `/query-stream` is asked."""
    return QueryRequest(**_parts(body, "sql", "properties"))


def member(body: Mapping[str, Any], name: str, kind: type, *, needed: bool = False) -> Any:
    """A member of an object. Raises KsqlError if it is of another kind, or missing but needed."""
    value = body.get(name)
    if value is None:
        if needed:
            raise bad_request(f"Invalid JSON in request: '{name}' is missing")
        return None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise bad_request(f"Invalid JSON in request: '{name}' must be {_KINDS[kind]}")
    return value


def _parts(body: Mapping[str, Any], sql: str, properties: str) -> dict[str, Any]:
    variables = member(body, "sessionVariables", dict) or {}
    return {
        "sql": member(body, sql, str, needed=True),
        "properties": member(body, properties, dict) or {},
        "variables": {name: _text(value) for name, value in variables.items()},
        "request_properties": member(body, "requestProperties", dict) or {},
    }


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise bad_request("Invalid JSON in request: variables must be strings")
    return str(value)


def _why(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
