"""`POST /inserts-stream`: rows as they come, acknowledged as they are written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.http import media
from headrace.ksql.http.bodies import MAX_BODY, bad_request, json_object, member
from headrace.ksql.http.forms import error_line, to_json
from headrace.ksql.http.gate import known_error
from headrace.ksql.http.streams import let_go
from headrace.ksql.http.work import Work
from headrace.ksql.service import Inserts, Service


async def inserts_stream(request: Request, service: Service, work: Work) -> Response:
    media_type = media.chosen(request.headers.get("accept", ""), media.INSERTS)
    if request.scope["http_version"] != "2":
        raise KsqlError(ErrorCode.HTTP2_ONLY, "This endpoint is only available when using HTTP2")
    lines = _lines(request)
    first, *rows = await anext(lines, [b""])
    head = json_object(first)
    target = member(head, "target", str, needed=True)
    properties = member(head, "properties", dict) or {}
    inserts = await work(service.inserts, target, properties)
    return _Acknowledgements(rows, lines, inserts, work, media_type)


class _Acknowledgements(Response):
    """The answer: it begins before the request has ended."""

    def __init__(
        self,
        rows: list[bytes],
        lines: AsyncIterator[list[bytes]],
        inserts: Inserts,
        work: Work,
        media_type: str,
    ) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._rows = rows
        self._lines = lines
        self._inserts = inserts
        self._work = work
        self._as_array = media_type == media.JSON

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        written = 0
        try:
            async for ack in self._acknowledge():
                piece = to_json(ack)
                if self._as_array:
                    piece = (b"," if written else b"[") + piece
                else:
                    piece += b"\n"
                written += 1
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                await let_go()
        except ClientDisconnect:
            return
        last = (b"]" if written else b"[]") if self._as_array else b""
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _acknowledge(self) -> AsyncIterator[dict[str, Any]]:
        number = 0
        try:
            async for lines in self._all_lines():
                inserted, error = await self._work(self._insert, lines)
                for _ in range(inserted):
                    yield {"seq": number, "status": "ok"}
                    number += 1
                if error is not None:
                    raise error
        except ClientDisconnect:
            raise
        except Exception as error:
            yield {"seq": number, "status": "error", **error_line(known_error(error))}

    async def _all_lines(self) -> AsyncIterator[list[bytes]]:
        yield self._rows
        async for lines in self._lines:
            yield lines

    def _insert(self, lines: list[bytes]) -> tuple[int, Exception | None]:
        """How many were written, and why the next was not."""
        for number, line in enumerate(lines):
            try:
                self._inserts.insert(_row(line))
            except Exception as error:
                return number, error
        return len(lines), None


def _row(line: bytes) -> dict[str, Any]:
    try:
        return json_object(line)
    except KsqlError:
        raise bad_request("Invalid JSON in inserts stream") from None


async def _lines(request: Request) -> AsyncIterator[list[bytes]]:
    """The lines of a body that have something on them, as many at a time as have come."""
    rest = b""
    async for chunk in request.stream():
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_BODY:
            raise bad_request(f"A row may have {MAX_BODY:,} bytes, and this one has more.")
        if lines := [line for line in whole if line.strip()]:
            yield lines
    if rest.strip():
        yield [rest]
