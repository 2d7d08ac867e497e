"""Kafka Connect, over its REST interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from headrace.core.masking import masked
from headrace.sql.errors import SqlError

_TIMEOUT_S = 30.0


class Connect:
    """The Connect workers at an address of the server's configuration."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def create(self, name: str, config: Mapping[str, Any]) -> Any:
        """Make a connector. Gives what Connect says of it."""
        body = {"name": name, "config": dict(config)}
        return self._ask("POST", "/connectors", body)

    def drop(self, name: str) -> None:
        self._ask("DELETE", f"/connectors/{_part(name)}")

    def exists(self, name: str) -> bool:
        return name in self.names()

    def names(self) -> list[str]:
        return [str(name) for name in self._ask("GET", "/connectors")]

    def info(self, name: str) -> Any:
        return self._ask("GET", f"/connectors/{_part(name)}")

    def status(self, name: str) -> Any:
        return self._ask("GET", f"/connectors/{_part(name)}/status")

    def topics(self, name: str) -> list[str]:
        return list(self._ask("GET", f"/connectors/{_part(name)}/topics")[name]["topics"])

    def plugins(self) -> list[Any]:
        return list(self._ask("GET", "/connector-plugins"))

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        try:
            answer = httpx.request(method, self._url + path, json=body, timeout=_TIMEOUT_S)
        except httpx.HTTPError as error:
            where, why = masked(self._url), masked(str(error))
            raise SqlError(f"Kafka Connect at {where} can't be reached: {why}") from error
        if answer.is_error:
            raise SqlError(f"Kafka Connect refused: {_message(answer)}")
        return answer.json() if answer.content else None


def _part(name: str) -> str:
    """A name as a part of a path, whatever is in it."""
    return quote(name, safe="")


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code}"
