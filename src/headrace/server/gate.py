"""What every request must pass before anything is done for it."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.http.listening import without_port
from headrace.http.logins import FailedLogins
from headrace.http.rate import Rate
from headrace.query.json_values import to_json
from headrace.server.limits import MAX_BODY
from headrace.server.problems import MEDIA_TYPE, ProblemError, problem_of

log = logging.getLogger("headrace.server")

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
PATIENCE_S = 10.0
"""How long the body of a request may take."""
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Access:
    """Who may come in. Without a token, only programs of this machine can reach us, but a browser
    there may be led here by a page from anywhere: so the host that it asks for must be one of
    `hosts`."""

    token: str | None
    hosts: tuple[str, ...] = ()
    rate: int = 1000


class Gate:
    """An ASGI application around another one. It counts requests, asks for the token, and turns
    errors into problem responses."""

    def __init__(self, inner: ASGIApp, access: Access, open_paths: Iterable[str]) -> None:
        self._inner = inner
        self._token = None if access.token is None else access.token.encode()
        self._hosts = {host.lower() for host in (*_LOOPBACK, *access.hosts)}
        self._rate = Rate(access.rate)
        self._logins = FailedLogins()
        self._open = tuple(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} isn't served")
        began = False

        async def with_headers(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                headers = message["headers"]
                given = {name for name, _ in headers}
                message["headers"] = headers + [each for each in _HEADERS if each[0] not in given]
            await send(message)

        try:
            await self._check(scope, receive)
            await self._inner(scope, receive, with_headers)
        except Exception as error:
            if began:
                raise
            await problem_response(error)(scope, receive, with_headers)

    async def _check(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        self._check_rate(scope)
        self._check_origin(scope, headers)
        self._check_token(scope, headers)
        await self._check_body(scope, headers, receive)

    def _check_rate(self, scope: Scope) -> None:
        wait_s = self._rate.wait_s(_client(scope))
        if wait_s:
            raise ProblemError(
                429,
                "too-many-requests",
                "This client makes more requests a second than server.requests.per.second allows.",
                "Wait as long as Retry-After says.",
                {"Retry-After": str(wait_s)},
            )

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "")
        if self._token is None and without_port(host).lower() not in self._hosts:
            raise ProblemError(
                403,
                "wrong-host",
                "This server is not known by that name.",
                "Use localhost, or the host of the setting application.server.",
            )
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            raise ProblemError(403, "wrong-origin", "Pages of other servers may not ask this one.")

    def _check_token(self, scope: Scope, headers: Headers) -> None:
        if self._token is None or self._is_open(scope["path"]):
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        client = _client(scope)
        if given and (wait_s := self._logins.wait_s(client)):
            raise ProblemError(
                429,
                "too-many-failures",
                "Too many logins of this client have failed.",
                "Wait as long as Retry-After says.",
                {"Retry-After": str(wait_s)},
            )
        # In constant time, so that nobody can guess it letter by letter.
        matches = hmac.compare_digest(given.strip().encode(), self._token)
        if not matches or kind.lower() != "bearer":
            if given:
                self._logins.failed(client)
            what = "That isn't the token" if given else "There is no token"
            raise ProblemError(
                401,
                "unauthorized",
                f"{what} in the header Authorization.",
                "Send `Authorization: Bearer …` with the setting server.token.",
                {"WWW-Authenticate": 'Bearer realm="headrace"'},
            )

    def _is_open(self, path: str) -> bool:
        return any(
            path.startswith(known) if known.endswith("/") and known != "/" else path == known
            for known in self._open
        )

    async def _check_body(self, scope: Scope, headers: Headers, receive: Receive) -> None:
        length = headers.get("content-length", "0")
        if length == "0" and "transfer-encoding" not in headers:
            return
        if int(length) > MAX_BODY:
            raise _too_large()
        size = 0
        try:
            async with asyncio.timeout(PATIENCE_S):
                async for chunk in Request(scope, receive).stream():
                    size += len(chunk)
                    if size > MAX_BODY:
                        raise _too_large()
        except TimeoutError:
            raise ProblemError(
                408,
                "too-slow",
                f"The request did not come within {PATIENCE_S:g} seconds.",
                headers={"Connection": "close"},
            ) from None
        if size:
            raise ProblemError(
                415, "no-body-expected", "No request to this server has a body.", "Leave it out."
            )


def problem_response(error: Exception) -> Response:
    """The answer to an error. One that nobody has thought of is logged, and not shown."""
    if isinstance(error, HTTPException):
        error = _of_router(error)
    found = problem_of(error)
    if found is None:
        log.error("A request failed", exc_info=error)
        found = ProblemError(
            500, "internal", "The request failed.", "The application's log says why."
        )
    return Response(
        to_json(found.problem), found.problem.status, found.headers, media_type=MEDIA_TYPE
    )


def _of_router(error: HTTPException) -> ProblemError:
    headers = dict(error.headers or {})
    if error.status_code == 405:
        allowed = headers.get("Allow", "")
        return ProblemError(
            405, "wrong-method", f"This can only be asked by {allowed}.", headers=headers
        )
    return ProblemError(
        404, "unknown-path", "There is nothing here.", "GET /openapi.json says what there is."
    )


def _client(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _too_large() -> ProblemError:
    return ProblemError(
        413, "too-large", f"A request may have {MAX_BODY:,} bytes.", headers={"Connection": "close"}
    )
