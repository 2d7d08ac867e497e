"""The routes of the REST API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from headrace.console.files import SQL_PAGE, files
from headrace.console.serving import file_response
from headrace.ksql.http import media
from headrace.ksql.http.bodies import (
    body_of,
    member,
    query_request,
    query_stream_request,
    statements_request,
)
from headrace.ksql.http.forms import form_of, to_json
from headrace.ksql.http.inserts import inserts_stream
from headrace.ksql.http.streams import (
    OpenStreams,
    StreamResponse,
    print_pieces,
    query_response,
)
from headrace.ksql.http.web_socket import web_socket_query
from headrace.ksql.http.work import Work
from headrace.ksql.requests import QueryRequest
from headrace.ksql.results import PrintResult
from headrace.ksql.service import Service

CONSOLE = "/console"
_TICK_S = 1.0


class Routes:
    """Answers requests for a service. Statements and queries have threads of their own, so that
    questions about the server are answered while it is busy."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._statements = Work(8, 100, "ksql-statement")
        self._queries = Work(8, 200, "ksql-query")
        self._inserts = Work(8, 100, "ksql-insert")
        self._questions = Work(4, 100, "ksql-question")
        self._works = (self._statements, self._queries, self._inserts, self._questions)
        self.open_streams = OpenStreams()

    def close(self) -> None:
        for work in self._works:
            work.close()

    def app(self) -> ASGIApp:
        async def inserts(request: Request) -> Response:
            return await inserts_stream(request, self._service, self._inserts)

        async def web_socket(socket: WebSocket) -> None:
            await web_socket_query(socket, self._service, self._queries, self.open_streams)

        return Router(
            [
                _post("/ksql", self._ksql),
                _post("/ksql/terminate", self._terminate),
                _post("/query", self._query),
                _post("/query-stream", self._query_stream),
                _post("/inserts-stream", inserts),
                _post("/close-query", self._close_query),
                _post("/heartbeat", _heard),
                _post("/lag", _heard),
                _get("/", _to_info),
                _get("/info", self._info),
                _get("/healthcheck", self._health),
                _get("/status", self._statuses),
                _get("/status/{type}/{entity:path}/{action}", self._status),
                _get("/is_valid_property/{name}", self._is_valid_property),
                _get("/clusterStatus", self._cluster_status),
                _get("/v1/metadata", self._metadata),
                _get("/v1/metadata/id", self._metadata_id),
                _get("/chc/ready", _yes),
                _get("/chc/live", _yes),
                _get("/v1/queries/{id:path}/picture", self._picture),
                _get(CONSOLE, _page),
                _get(f"{CONSOLE}/{{name}}", _file),
                WebSocketRoute("/ws/query", web_socket),
            ],
            redirect_slashes=False,
        )

    # Statements and queries

    async def _ksql(self, request: Request) -> Response:
        _accepts_json(request)
        asked = statements_request(await body_of(request))
        entities = await self._statements(self._service.execute, asked)
        return _json([entity.json() for entity in entities])

    async def _terminate(self, request: Request) -> Response:
        _accepts_json(request)
        patterns = member(await body_of(request), "deleteTopicList", list) or []
        entities = await self._statements(
            self._service.terminate_cluster, [str(pattern) for pattern in patterns]
        )
        return _json([entity.json() for entity in entities])

    async def _query(self, request: Request) -> Response:
        media_type = media.chosen(request.headers.get("accept", ""), media.QUERY)
        asked = query_request(await body_of(request))
        return await self._answer(
            request, asked, media_type, print_allowed=not _is_http2(request), formats=True
        )

    async def _query_stream(self, request: Request) -> Response:
        media_type = media.chosen(request.headers.get("accept", ""), media.QUERY_STREAM)
        asked = query_stream_request(await body_of(request))
        return await self._answer(
            request,
            asked,
            media_type,
            print_allowed=media_type == media.DELIMITED,
            formats=False,
        )

    async def _answer(
        self,
        request: Request,
        asked: QueryRequest,
        media_type: str,
        *,
        print_allowed: bool,
        formats: bool,
    ) -> Response:
        result = await self._queries(self._service.query, asked)
        if isinstance(result, PrintResult):
            if not print_allowed:
                result.lines.close()
                status, text = (405, "Method Not Allowed") if formats else (406, "Not Acceptable")
                return Response(text, status, media_type="text/plain")
            pieces = print_pieces(result, formats=formats, tick_s=_TICK_S if formats else None)
            close = self.open_streams.opened(result.lines)
            return StreamResponse(pieces, media_type, close, apart=False)
        apart = _is_http2(request) and media_type == media.DELIMITED
        return query_response(result, form_of(media_type, result), self.open_streams, apart=apart)

    async def _close_query(self, request: Request) -> Response:
        query_id = member(await body_of(request), "queryId", str, needed=True)
        await self._questions(self._service.close_query, query_id)
        return Response()

    # Questions

    async def _info(self, request: Request) -> Response:
        info = await self._questions(self._service.info)
        return _json(
            {
                "KsqlServerInfo": {
                    "version": info.version,
                    "kafkaClusterId": info.cluster_id,
                    "ksqlServiceId": info.service_id,
                    "serverStatus": info.status,
                }
            }
        )

    async def _health(self, request: Request) -> Response:
        return _json(self._service.health())

    async def _statuses(self, request: Request) -> Response:
        statuses = await self._questions(self._service.statuses)
        return _json({"commandStatuses": {name: each.status for name, each in statuses.items()}})

    async def _status(self, request: Request) -> Response:
        parts = request.path_params
        name = f"{parts['type']}/{parts['entity']}/{parts['action']}"
        return _json((await self._questions(self._service.status, name)).json())

    async def _is_valid_property(self, request: Request) -> Response:
        await self._questions(self._service.check_property, request.path_params["name"])
        return _json(True)

    async def _cluster_status(self, request: Request) -> Response:
        return _json(await self._questions(self._service.cluster_status))

    async def _metadata(self, request: Request) -> Response:
        info = await self._questions(self._service.info)
        return _json({"version": info.version, "clusterId": await self._cluster_id()})

    async def _metadata_id(self, request: Request) -> Response:
        return _json(await self._cluster_id())

    async def _picture(self, request: Request) -> Response:
        """Where the console draws the topology of a query."""
        return _json(await self._questions(self._service.picture, request.path_params["id"]))

    async def _cluster_id(self) -> dict[str, Any]:
        info = await self._questions(self._service.info)
        clusters = {"kafka-cluster": info.cluster_id, "ksql-cluster": info.service_id}
        return {"id": "", "scope": {"path": [], "clusters": clusters}}


Endpoint = Callable[[Request], Awaitable[Response]]


def _post(path: str, endpoint: Endpoint) -> Route:
    return Route(path, endpoint, methods=["POST"])


def _get(path: str, endpoint: Endpoint) -> Route:
    return Route(path, endpoint, methods=["GET"])


async def _to_info(request: Request) -> Response:
    return RedirectResponse("/info", 307)


async def _yes(request: Request) -> Response:
    return _json({})


async def _heard(request: Request) -> Response:
    """What servers of ksqlDB tell each other. Ours know by the command topic who is there."""
    await body_of(request)
    return _json({"isOk": True})


async def _page(request: Request) -> Response:
    return file_response(request, files()[SQL_PAGE])


async def _file(request: Request) -> Response:
    found = files().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "The console has no such file.")
    return file_response(request, found)


def _is_http2(request: Request) -> bool:
    return bool(request.scope["http_version"] == "2")


def _accepts_json(request: Request) -> None:
    media.chosen(request.headers.get("accept", ""), media.ANSWERS)


def _json(content: Any) -> Response:
    return Response(to_json(content), media_type=media.JSON)
