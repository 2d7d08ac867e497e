"""What a store needs of the task that it is built in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from headrace.core.record import Header
from headrace.runtime.context import TaskContext
from headrace.runtime.stores.cache import RecordCache
from headrace.runtime.stores.storage import Storage
from headrace.serde.serde import Serde, SerdeLike

Logged = tuple[bytes, bytes | None, int | None, Sequence[Header]]
"""A record of a changelog: key, value, timestamp, headers."""


class ChangelogRecord(NamedTuple):
    """The same, with names."""

    key: bytes
    value: bytes | None
    timestamp: int | None
    headers: Sequence[Header] = ()


class Log(Protocol):
    """Appends to a store's changelog. A timestamp of None lets the producer take its own."""

    def __call__(
        self,
        store: str,
        key: bytes,
        value: bytes | None,
        timestamp: int | None,
        headers: Sequence[Header],
        /,
    ) -> None: ...


@dataclass(slots=True)
class StoreEnvironment:
    """`resolve_serde(serde, role)`, role "key" or "value", fills in the configured default.

    `log` is called for stores whose spec says `logging`.
    """

    context: TaskContext
    resolve_serde: Callable[[SerdeLike, str], Serde[Any]]
    log: Log
    cache: RecordCache
    storage: Storage
