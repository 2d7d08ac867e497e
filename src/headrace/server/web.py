"""The server as an ASGI application."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.console.files import PAGE, files
from headrace.console.serving import file_response, has_tag
from headrace.metrics.prometheus import CONTENT_TYPE_LATEST, exposition
from headrace.query.json_values import to_json
from headrace.server.application import Application
from headrace.server.dead_letters import DeadLetterList, ReadTopic
from headrace.server.elsewhere import Elsewhere
from headrace.server.gate import Access, Gate
from headrace.server.limits import MAX_SCANS
from headrace.server.lookups import Lookups
from headrace.server.openapi import document
from headrace.server.overview import Overview
from headrace.server.problems import ProblemError, not_now
from headrace.server.routes import Route
from headrace.server.spread import SpreadLookups
from headrace.server.stores import StoreList
from headrace.server.table import table
from headrace.server.topic_records import TopicRecords

Endpoint = Callable[[Request], Awaitable[Response]]

_JSON = "application/json"


def web(application: Application, access: Access, read_topic: ReadTopic) -> ASGIApp:
    """Answers requests about an application."""
    stores = StoreList(application)
    here, places = Lookups(application, stores), application.places
    elsewhere = Elsewhere(application.config)
    lookups = here if places is None else SpreadLookups(here, places, elsewhere)
    routes = table(
        Overview(application),
        stores,
        lookups,
        DeadLetterList(application, read_topic),
        TopicRecords(application, read_topic),
    )
    described = to_json(document(routes, has_token=access.token is not None))
    scans = Scans()

    async def openapi(request: Request) -> Response:
        return _tagged(request, described, 200, _JSON)

    async def metrics(request: Request) -> Response:
        return Response(exposition(application.metrics()), media_type=CONTENT_TYPE_LATEST)

    async def page(request: Request) -> Response:
        return file_response(request, files()[PAGE])

    async def console(request: Request) -> Response:
        found = files().get(request.path_params["name"])
        if found is None:
            raise ProblemError(404, "unknown-path", "The console has no such file.")
        return file_response(request, found)

    router = Router(
        [
            *(
                StarletteRoute(route.path, _endpoint(route, scans), methods=[route.method])
                for route in routes
            ),
            StarletteRoute("/openapi.json", openapi),
            StarletteRoute("/metrics", metrics),
            StarletteRoute("/", page),
            StarletteRoute("/console/{name}", console),
        ],
        redirect_slashes=False,
    )
    open_paths = [route.path for route in routes if route.is_open]
    return Gate(_raising(router), access, ["/", "/console/", *open_paths])


class Scans:
    """What takes its time runs in threads, a few at once. More are turned away: who waits for
    long asks again, and makes it worse."""

    def __init__(self) -> None:
        self._limiter: CapacityLimiter | None = None

    async def run(self, route: Route, asked: dict[str, object]) -> object:
        if self._limiter is None:
            self._limiter = CapacityLimiter(MAX_SCANS)
        if not self._limiter.available_tokens:
            raise not_now(
                "busy", "Too many long requests are under way.", "Ask again soon, or for less."
            )
        return await anyio.to_thread.run_sync(route.handle, asked, limiter=self._limiter)


def _endpoint(route: Route, scans: Scans) -> Endpoint:
    async def answer(request: Request) -> Response:
        _check_accept(request)
        asked = route.read(request.path_params, request.query_params.multi_items())
        found = await scans.run(route, asked) if route.blocks else route.handle(asked)
        return _tagged(request, to_json(found), route.status(found), _JSON)

    return answer


def _check_accept(request: Request) -> None:
    accept = request.headers.get("accept", "*/*")
    kinds = {kind.partition(";")[0].strip().lower() for kind in accept.split(",")}
    if not kinds & {_JSON, "application/*", "*/*", ""}:
        raise ProblemError(
            406, "not-acceptable", f"This is {_JSON}, and the request accepts only {accept[:80]!r}."
        )


def _tagged(request: Request, body: bytes, status: int, media_type: str) -> Response:
    """With a tag of the content, or if the client has that already, without the content."""
    tag = f'"{hashlib.blake2b(body, digest_size=9).hexdigest()}"'
    headers = {"ETag": tag}
    if status == 200 and has_tag(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(body, status, headers, media_type)


def _raising(router: Router) -> ASGIApp:
    """The router, made to raise what it can't find rather than to answer by itself."""

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        # With an `app` in the scope, the router raises HTTPException.
        await router({**scope, "app": router}, receive, send)

    return routed
