"""Stores on the hosts of a Spark cluster."""

from __future__ import annotations

import ssl
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx

from headrace.app.streams import KafkaStreams
from headrace.core.errors import StateError
from headrace.core.record import ValueAndTimestamp
from headrace.core.windowed import Window, Windowed
from headrace.ksql.turns import TURNS
from headrace.runtime.serdes import SerdeResolver

_PAGE = 1_000
_TIMEOUT_S = 30.0


class ClusterStore:
    """What pull queries need of a store, all of its partitions. The application's own server is
    asked, which knows where each of them is; keys and values come as they are in the store."""

    def __init__(self, streams: KafkaStreams, name: str) -> None:
        config, spec = streams.config, streams.topology.stores[name]
        if streams.server_address is None:
            raise StateError(
                "Tables can't be looked up here: their state is on the hosts of a Spark cluster, "
                "which answer if ksql.streams.application.server is set."
            )
        resolve = SerdeResolver(config)
        self._key, self._value = resolve(spec.key_serde, "key"), resolve(spec.value_serde, "value")
        token, certificate = config["server.token"], config["server.certificate.file"]
        self._client = httpx.Client(
            base_url=f"{streams.server_address}/v1/stores/{quote(name, safe='')}/",
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            verify=certificate is not None and ssl.create_default_context(cafile=certificate),
            timeout=_TIMEOUT_S,
        )

    def close(self) -> None:
        self._client.close()

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        found = self._ask("value", key=self._written(key))
        return None if found is None else self._read(found)

    def all(self) -> Iterator[tuple[Any, Any]]:
        for item in self._items("entries"):
            yield self._key_of(item), self._read(item)

    def fetch(
        self, key: Any, first: int | None = None, last: int | None = None
    ) -> Iterator[tuple[Any, Any]]:
        """The windows of a key by their starts, or without times its sessions."""
        if first is None or last is None:
            for item in self._items("sessions", key=self._written(key)):
                window = Window(item["start"], item["end"])
                yield Windowed(key, window), self._read(item)
            return
        for item in self._items("windows", key=self._written(key), **_between(first, last)):
            yield item["start"], self._read(item)

    def fetch_all(self, first: int, last: int) -> Iterator[tuple[Any, Any]]:
        for item in self._items("windows", **_between(first, last)):
            window = Window(item["start"], item["end"])
            yield Windowed(self._key_of(item), window), self._read(item)

    # How it is asked

    def _items(self, lookup: str, **asked: Any) -> Iterator[dict[str, Any]]:
        cursor: dict[str, str] = {}
        while True:
            found = self._ask(lookup, limit=_PAGE, **asked, **cursor)
            assert found is not None, "only a key may be missing"
            yield from found["items"]
            if found["next"] is None:
                return
            cursor = {"cursor": found["next"]}

    def _ask(self, lookup: str, **asked: Any) -> dict[str, Any] | None:
        """None: there is no such key."""
        try:
            with TURNS.waiting():
                answer = self._client.get(
                    lookup, params={**asked, "raw": "true", "encoding": "base64"}
                )
            found: dict[str, Any] = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise StateError(f"The hosts of the Spark cluster can't be asked: {error}") from error
        if answer.is_error:
            if found.get("kind") == "no-such-key":
                return None
            raise StateError(f"The table can't be looked up now: {found.get('detail')} Try again.")
        return found

    def _written(self, key: Any) -> str:
        return urlsafe_b64encode(self._key.serialize(key)).decode()

    def _key_of(self, item: dict[str, Any]) -> Any:
        return self._key.deserialize(b64decode(item["key"]))

    def _read(self, item: dict[str, Any]) -> Any:
        value = self._value.deserialize(b64decode(item["value"]))
        timestamp = item["timestamp"]
        return value if timestamp is None else ValueAndTimestamp(value, timestamp)


def _between(first: int, last: int) -> dict[str, int]:
    return {"from": first, "to": last}
