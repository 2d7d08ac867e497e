"""Streams of results, from the threads that make them to clients that read as fast as they can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.http.forms import Form
from headrace.ksql.results import PrintResult, QueryResult, ResultStream, Row

T = TypeVar("T")

_BATCH = 200


class OpenStreams:
    """Streams whose answers are under way."""

    def __init__(self) -> None:
        self._streams: set[ResultStream[Any]] = set()

    def opened(self, stream: ResultStream[T]) -> Callable[[], None]:
        """A stream is answered from now on. Gives what is to be called when that has ended."""
        self._streams.add(stream)

        def close() -> None:
            self._streams.discard(stream)
            stream.close()

        return close

    def end(self) -> None:
        """Have all of them end: clients are told why."""
        for stream in list(self._streams):
            message = "The server is shutting down"
            stream.fail(KsqlError(ErrorCode.SERVER_SHUTTING_DOWN, message))

    def __len__(self) -> int:
        return len(self._streams)


async def batches(
    stream: ResultStream[T], *, tick_s: float | None = None
) -> AsyncIterator[list[T]]:
    """What a stream gives, as it comes; with `tick_s` an empty list whenever nothing has come for
    so long. Ends when the stream has ended and everything was taken."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    stream.on_ready(lambda: _wake(loop, ready))
    try:
        while True:
            ready.clear()
            ended = stream.ended  # looked at first: what comes after it is not missed
            taken = stream.take(_BATCH)
            if taken:
                yield taken
            elif ended:
                return
            else:
                try:
                    await asyncio.wait_for(ready.wait(), tick_s)
                except TimeoutError:
                    yield []
    finally:
        stream.on_ready(None)


def _wake(loop: asyncio.AbstractEventLoop, ready: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(ready.set)


class StreamResponse(Response):
    """An answer in pieces. The stream behind it is closed when it has ended, however it ends.
    `apart`: pieces are never joined."""

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        media_type: str,
        close: Callable[[], None],
        *,
        apart: bool,
    ) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._pieces = pieces
        self._close = close
        self._apart = apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await until_gone(self._write(send), receive)
        finally:
            self._close()

    async def _write(self, send: Send) -> None:
        start = {
            "type": "http.response.start",
            "status": self.status_code,
            "headers": self.raw_headers,
        }
        await send(start)
        async for piece in self._pieces:
            if piece:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if self._apart:
                    await let_go()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def let_go() -> None:
    """What was sent goes out now. The server would put two pieces into one frame of HTTP/2, but
    there are clients that take each for a row."""
    for _ in range(3):
        await asyncio.sleep(0)


async def until_gone(work: Awaitable[Any], receive: Receive) -> None:
    """Do something until it is done, or the client has gone."""
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] not in ("http.disconnect", "websocket.disconnect"):
        pass


def query_response(
    result: QueryResult, form: Form, open_streams: OpenStreams, *, apart: bool
) -> Response:
    """The answer of a SELECT: at once if all is there, else as it comes. `apart`: its pieces are
    never joined."""
    first: list[Row] = []
    if result.rows.ended and not apart:
        first = result.rows.take(_BATCH)
        if len(first) < _BATCH:
            result.rows.close()
            end = form.end(result.rows.final_message, result.rows.error)
            whole = b"".join((form.header(), *form.rows(first), end))
            return Response(whole, media_type=form.media_type)
    pieces = _query_pieces(result, form, first, apart=apart)
    close = open_streams.opened(result.rows)
    return StreamResponse(pieces, form.media_type, close, apart=apart)


async def _query_pieces(
    result: QueryResult, form: Form, first: list[Row], *, apart: bool
) -> AsyncIterator[bytes]:
    yield form.header()
    if first:
        yield b"".join(form.rows(first))
    async for rows in batches(result.rows):
        if apart:
            for piece in form.rows(rows):
                yield piece
        else:
            yield b"".join(form.rows(rows))
            await asyncio.sleep(0)  # others have their turn
    yield form.end(result.rows.final_message, result.rows.error)


async def print_pieces(
    result: PrintResult, *, formats: bool, tick_s: float | None = None
) -> AsyncIterator[bytes]:
    """The answer of a PRINT, with lines about formats or without them."""
    async for lines in batches(result.lines, tick_s=tick_s):
        texts: Iterable[str] = (line.text for line in lines if formats or not line.about_format)
        yield "".join(f"{text}\n" for text in (texts if lines else [""])).encode()
        await asyncio.sleep(0)  # others have their turn
    if result.lines.error is not None:
        yield f"{result.lines.error.message}\n".encode()
