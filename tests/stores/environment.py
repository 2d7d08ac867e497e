"""A small task set-up that stores can be built in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import NO_HEADERS, Header, TaskId
from headrace.metrics.task import TaskMetrics
from headrace.runtime.context import RecordContext, TaskContext
from headrace.runtime.stores import (
    ChangelogRecord,
    InMemoryStorage,
    RecordCache,
    Storage,
    StoreEnvironment,
    build_store,
)
from headrace.serde.serde import Serde, SerdeLike
from headrace.topology.stores import StoreSpec

TEXT: Serde[str] = Serde(str.encode, bytes.decode)
NUMBER: Serde[int] = Serde(
    lambda number: number.to_bytes(8, "big", signed=True),
    lambda data: int.from_bytes(data, "big", signed=True),
)


class Task:
    """A context, a changelog and a cache of `budget` bytes."""

    def __init__(
        self, budget: int = 10_000_000, storage: Storage | None = None, **settings: Any
    ) -> None:
        config = StreamsConfig({key.replace("_", "."): value for key, value in settings.items()})
        self.context = TaskContext(TaskId(0, 0), config, ManualClock(0), TaskMetrics())
        self.cache = RecordCache(budget, self.context)
        self.changelog: list[ChangelogRecord] = []
        self.environment = StoreEnvironment(
            self.context, _resolve, self._log, self.cache, storage or InMemoryStorage()
        )

    def build(self, spec: StoreSpec) -> Any:
        return build_store(spec, self.environment)

    def at(
        self, timestamp: int, headers: Sequence[Header] = NO_HEADERS, topic: str | None = "in"
    ) -> None:
        """Set the registers to those of a record."""
        self.context.restore(RecordContext(timestamp, headers, topic, 0, 7, b"k", b"v"))

    @property
    def dropped(self) -> int:
        return self.context.metrics.dropped_records.total

    def take_changelog(self) -> list[ChangelogRecord]:
        taken, self.changelog[:] = list(self.changelog), []
        return taken

    def _log(
        self,
        store: str,
        key: bytes,
        value: bytes | None,
        timestamp: int | None,
        headers: Sequence[Header],
    ) -> None:
        self.changelog.append(ChangelogRecord(key, value, timestamp, headers))


def restored(spec: StoreSpec, changelog: list[ChangelogRecord]) -> Any:
    """A fresh store after its changelog was applied, which must not log anything itself."""
    task = Task()
    store = task.build(spec)
    store.restore(changelog)
    assert task.changelog == []
    return store


def _resolve(serde: SerdeLike, role: str) -> Serde[Any]:
    assert isinstance(serde, Serde)
    return serde
