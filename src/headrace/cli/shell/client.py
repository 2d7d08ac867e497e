"""Asks a ksqlDB server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import httpx

from headrace.core.errors import HeadraceError
from headrace.core.masking import masked

V1 = "application/vnd.ksql.v1+json"
_CONNECT_S = 10.0


class ServerError(HeadraceError):
    """The server can't do what it was asked. `statement` is to blame, if it says so; `entities` are
    what statements before it were answered."""

    def __init__(
        self,
        message: str,
        statement: str | None = None,
        entities: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.statement = statement
        self.entities = entities or []


class KsqlClient:
    """A server at an address such as http://localhost:8088."""

    def __init__(self, url: str, *, user: tuple[str, str] | None = None, token: str | None = None):
        if "://" not in url:
            url = f"http://{url}"
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.url = masked(url.rstrip("/"))
        self._client = httpx.Client(
            base_url=url.rstrip("/"),
            auth=user,
            headers=headers,
            timeout=httpx.Timeout(None, connect=_CONNECT_S),
        )

    def close(self) -> None:
        self._client.close()

    def info(self) -> dict[str, Any]:
        """Who the server is."""
        with _told():
            info: dict[str, Any] = _content(self._client.get("/info"))["KsqlServerInfo"]
        return info

    def check_property(self, name: str) -> None:
        """Raises ServerError if requests can't set it."""
        with _told():
            _content(self._client.get(f"/is_valid_property/{name}"))

    def execute(
        self, sql: str, properties: Mapping[str, Any], variables: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """The entities that statements are answered."""
        body = {"ksql": sql, "streamsProperties": properties, "sessionVariables": variables}
        with _told():
            entities: list[dict[str, Any]] = _content(self._client.post("/ksql", json=body))
        return entities

    @contextmanager
    def query(
        self, sql: str, properties: Mapping[str, Any], variables: Mapping[str, str]
    ) -> Iterator[Iterator[Any]]:
        """The objects of a query's answer as they come, or the lines of PRINT. The query ends when
        the context is left."""
        body = {"ksql": sql, "streamsProperties": properties, "sessionVariables": variables}
        with (
            _told(),
            self._client.stream("POST", "/query", json=body, headers={"Accept": V1}) as answer,
        ):
            if answer.is_error:
                answer.read()
                _content(answer)
            yield _objects(answer.iter_lines())


def _objects(lines: Iterator[str]) -> Iterator[Any]:
    """One on each line: an array in JSON, or text."""
    for line in lines:
        text = line.removesuffix(",")
        if text.startswith('[{"header":'):
            text = text[1:]
        if text.startswith("{") and text.endswith("}]"):
            text = text[:-1]
        if text and text != "]":
            yield _parsed(text) if text.startswith("{") else text


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError:
        return text


def _content(answer: httpx.Response) -> Any:
    """What an answer says. Raises ServerError if that is an error."""
    content = _parsed(answer.text) if answer.text else None
    if answer.is_success:
        return content
    if isinstance(content, dict) and "message" in content:
        raise ServerError(
            str(content["message"]), content.get("statementText"), content.get("entities")
        )
    raise ServerError(f"The server answered with status {answer.status_code}: {answer.text[:200]}")


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except httpx.InvalidURL as error:
        raise ServerError(f"That isn't an address: {error}") from error
    except httpx.HTTPError as error:
        raise ServerError(
            f"The server can't be reached: {error}. Does it run? "
            "`headrace server start` starts one."
        ) from error
