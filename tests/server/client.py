"""Makes requests to an ASGI application in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlencode

import orjson
from starlette.types import ASGIApp, Message


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return orjson.loads(self.body)


class Client:
    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self._app = app
        self._headers = {"Host": "localhost:8080"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def get(self, path: str, headers: Mapping[str, str] | None = None, **query: Any) -> Answer:
        return self.request("GET", path, headers, urlencode(query))

    def post(
        self, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        return self.request("POST", path, headers, body=body)

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        query: str = "",
        body: bytes = b"",
    ) -> Answer:
        return asyncio.run(self.ask(method, path, headers, query, body))

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        query: str = "",
        body: bytes = b"",
    ) -> Answer:
        if "?" in path:
            path, query = path.split("?")
        all_headers = {**self._headers, **(headers or {})}
        if body:
            all_headers.setdefault("Content-Length", str(len(body)))
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                (name.lower().encode(), value.encode("latin-1"))
                for name, value in all_headers.items()
            ],
            "client": ("127.0.0.1", 50000),
            "server": ("localhost", 8080),
        }
        await self._app(scope, receive, send)
        start = sent[0]
        return Answer(
            start["status"],
            {name.decode(): value.decode("latin-1") for name, value in start["headers"]},
            b"".join(message.get("body", b"") for message in sent[1:]),
        )
