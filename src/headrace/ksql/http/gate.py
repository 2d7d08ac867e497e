"""What every request must pass before anything is done for it, and what becomes of errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.http.listening import without_port
from headrace.http.logins import FailedLogins
from headrace.http.peers import ANSWER
from headrace.http.places import Places
from headrace.http.rate import Rate
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.http import media
from headrace.ksql.http.access import Access
from headrace.ksql.http.forms import to_json

log = logging.getLogger("headrace.ksql")

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_OPEN = ("/healthcheck", "/v1/metadata", "/v1/metadata/id", "/chc/ready", "/chc/live")
_OPEN_BELOW = "/console"
"""What everybody may ask: the files of the console have nothing of ours in them."""
_DRAIN_S = 1.0
_DRAIN_BYTES = 16 * 1024 * 1024
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Gate:
    """An ASGI application around another one."""

    def __init__(self, inner: ASGIApp, access: Access) -> None:
        self._inner = inner
        self._access = access
        self._hosts = {host.lower() for host in (*_LOOPBACK, *access.hosts)}
        self._rate = Rate(access.rate)
        self._logins = FailedLogins()
        self._requests = Places(access.requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        if scope["type"] == "websocket":
            await self._web_socket(scope, receive, send)
            return
        exchange = _Exchange(receive, send)
        if not scope["path"].startswith("/"):  # the whole address, as clients of proxies send it
            scope["path"] = "/" + scope["path"].partition("://")[2].partition("/")[2]
        try:
            self._check(HTTPConnection(scope), exchange.headers)
            with self._place(scope["path"]):
                await self._inner(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            return
        except Exception as error:
            if exchange.began:
                log.exception("An answer was broken off")
                return
            await error_response(error)(scope, exchange.receive, exchange.send)

    async def _web_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check(HTTPConnection(scope), {})
            with self._place(scope["path"]):
                await self._inner(scope, receive, send)
        except KsqlError as error:
            log.info("A web socket was refused: %s", error)
            await send({"type": "websocket.close", "code": 1008})  # answered with status 403

    @contextmanager
    def _place(self, path: str) -> Iterator[None]:
        """Be one of the requests that are under way. For what everybody may ask there is always
        room: it costs nothing."""
        if _is_open(path):
            yield
            return
        if not self._requests.take():
            raise KsqlError(
                ErrorCode.TOO_MANY_REQUESTS,
                f"{self._requests.most} requests are under way (server.requests). Try again.",
            )
        try:
            yield
        finally:
            self._requests.leave()

    def _check(self, request: HTTPConnection, answer: dict[str, str]) -> None:
        """Raises KsqlError if it may not pass. `answer` is given headers for the answer."""
        self._check_rate(request)
        self._check_origin(request.headers)
        if not self._is_peer(request, answer):
            self._check_credentials(request)

    def _check_rate(self, request: HTTPConnection) -> None:
        wait_s = self._rate.wait_s(request.client.host if request.client else "")
        if wait_s:
            message = f"This client makes more than {self._access.rate} requests a second."
            raise TooManyError(message, wait_s)

    def _check_origin(self, headers: Headers) -> None:
        host = headers.get("host", "")
        if not self._access.is_protected and without_port(host).lower() not in self._hosts:
            raise KsqlError(
                ErrorCode.FORBIDDEN,
                "This server is not known by that name. Use localhost, or the host of its listener",
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise KsqlError(ErrorCode.FORBIDDEN, "Pages of other servers may not ask this one.")

    def _is_peer(self, request: HTTPConnection, answer: dict[str, str]) -> bool:
        """Whether another server of the service asks. The answer proves that this is one too."""
        peers, here = self._access.peers, self._access.advertised
        if peers is None:
            return False
        nonce = peers.asked(request.headers.get("authorization", ""), here)
        if nonce is None:
            return False
        answer[ANSWER] = peers.answer(nonce, here)
        return True

    def _check_credentials(self, request: HTTPConnection) -> None:
        access = self._access
        if not access.is_protected or _is_open(request.scope["path"]):
            return
        client = request.client.host if request.client else ""
        token = request.query_params.get("access_token")
        given = token is not None or "authorization" in request.headers
        if given and (wait_s := self._logins.wait_s(client)):
            raise TooManyError("Too many logins have failed. Wait a minute.", wait_s)
        if request.scope["type"] == "websocket" and token is not None:
            allowed = access.allows_token(token)
        else:
            allowed = access.allows(request.headers.get("authorization", ""))
        if not allowed:
            if given:
                self._logins.failed(client)
            raise KsqlError(ErrorCode.UNAUTHORIZED, "Unauthorized")


class TooManyError(KsqlError):
    """A client has to wait."""

    def __init__(self, message: str, wait_s: int) -> None:
        super().__init__(ErrorCode.TOO_MANY_REQUESTS, message)
        self.retry_after_s = wait_s


class _Exchange:
    """A request and its answer. The answer doesn't end before the request: what comes after the end
    would break a connection of HTTP/2, and all that goes on there."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._is_read = False
        self.began = False
        self.headers = dict(_HEADERS)

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request" or not message.get("more_body"):
            self._is_read = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.began = True
            headers = MutableHeaders(scope=message)
            for name, value in self.headers.items():
                headers.setdefault(name, value)
        elif not message.get("more_body"):
            await self._drain()
        await self._send(message)

    async def _drain(self) -> None:
        size = 0
        try:
            async with asyncio.timeout(_DRAIN_S):
                while not self._is_read and size < _DRAIN_BYTES:
                    size += len((await self.receive()).get("body", b""))
        except TimeoutError:
            return


def error_response(error: Exception) -> Response:
    """The answer to an error. One that nobody has thought of is logged, and not shown."""
    if isinstance(error, HTTPException):
        return PlainTextResponse(error.detail, error.status_code, error.headers)
    known = known_error(error)
    headers = {}
    if known.code == ErrorCode.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Basic realm="headrace"'
    if known.status in (429, 503):
        headers["Retry-After"] = str(known.retry_after_s)
    return Response(to_json(known.json()), known.status, headers, media_type=media.JSON)


def known_error(error: Exception) -> KsqlError:
    """The error that a client is told."""
    if isinstance(error, KsqlError):
        return error
    log.error("A request failed", exc_info=error)
    return KsqlError(
        ErrorCode.SERVER_ERROR,
        "The server encountered an internal error when processing the request. Please consult the "
        "server logs for more information.",
    )


def _is_open(path: str) -> bool:
    return path in _OPEN or path == _OPEN_BELOW or path.startswith(f"{_OPEN_BELOW}/")
