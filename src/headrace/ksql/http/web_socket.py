"""`GET /ws/query`: the answer of a query in frames of a web socket."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.http import media
from headrace.ksql.http.bodies import json_object, query_request
from headrace.ksql.http.forms import V1, to_json
from headrace.ksql.http.gate import known_error
from headrace.ksql.http.streams import OpenStreams, batches, until_gone
from headrace.ksql.http.work import Work
from headrace.ksql.results import PrintResult, QueryResult
from headrace.ksql.schemas import field_json
from headrace.ksql.service import Service

_DONE, _BAD, _FAILED, _LATER = 1000, 1003, 1011, 1013
_MAX_REASON = 123


async def web_socket_query(
    socket: WebSocket, service: Service, work: Work, open_streams: OpenStreams
) -> None:
    await socket.accept()
    try:
        await _answer(socket, service, work, open_streams)
    except WebSocketDisconnect:
        return
    except asyncio.CancelledError:
        raise
    except Exception as error:
        known = known_error(error)
        await _end(socket, known.message, _code(known))
    else:
        await _end(socket, "done", _DONE)


async def _answer(
    socket: WebSocket, service: Service, work: Work, open_streams: OpenStreams
) -> None:
    version = socket.query_params.get("version", "1")
    if version != "1":
        raise KsqlError(ErrorCode.BAD_REQUEST, f"Received invalid api version: {version}")
    request = query_request(json_object(socket.query_params.get("request", "").encode()))
    result = await work(service.query, request)
    stream: Any = result.lines if isinstance(result, PrintResult) else result.rows
    close = open_streams.opened(stream)
    try:
        await until_gone(_send(socket, result), socket.receive)
    finally:
        close()
    if stream.error is not None:
        raise stream.error


async def _send(socket: WebSocket, result: QueryResult | PrintResult) -> None:
    if isinstance(result, PrintResult):
        async for lines in batches(result.lines):
            for line in lines:
                await socket.send_text(line.text)
        return
    form = V1(result, media.V1)
    await socket.send_text(to_json([field_json(column) for column in result.columns]).decode())
    async for rows in batches(result.rows):
        for row in rows:
            if not row.tombstone:
                await socket.send_text(to_json(form.row(row)).decode())


async def _end(socket: WebSocket, reason: str, code: int) -> None:
    shown = reason.encode()[:_MAX_REASON].decode(errors="ignore")
    try:
        await socket.send_text(to_json({"error": reason}).decode())
        await socket.close(code, shown)
    except (RuntimeError, WebSocketDisconnect):  # the client was faster
        return


def _code(error: KsqlError) -> int:
    if error.code == ErrorCode.COMMAND_QUEUE_CATCHUP_TIMEOUT:
        return _LATER
    return _BAD if error.status < 500 else _FAILED
