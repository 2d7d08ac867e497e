"""How far stores are on their way back from their changelogs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

from headrace.core.record import TopicPartition


class StateRestoreListener:
    """Override what you want to know. Offsets are those of the changelog. It is called in a thread
    of Headrace's."""

    def on_restore_start(self, partition: TopicPartition, store: str, start: int, end: int) -> None:
        """The records from `start` to before `end` are going to be read."""

    def on_batch_restored(
        self, partition: TopicPartition, store: str, offset: int, records: int
    ) -> None:
        """Some more records were read, up to `offset`."""

    def on_restore_end(self, partition: TopicPartition, store: str, records: int) -> None:
        """The store has all of its `records`."""


@dataclass(frozen=True)
class Restoring:
    """A store that is being restored."""

    store: str
    partition: TopicPartition
    start: int
    end: int
    offset: int


class Restoration:
    """Hears what the workers tell, and passes it on to the user's listener."""

    def __init__(self) -> None:
        self.listener = StateRestoreListener()
        self._lock = threading.Lock()
        self._stores: dict[tuple[str, TopicPartition], Restoring] = {}

    def stores(self) -> tuple[Restoring, ...]:
        with self._lock:
            return tuple(self._stores.values())

    def on_event(self, event: list[Any]) -> None:
        """(kind, store, topic, partition, numbers …) from a worker."""
        kind, store, topic, number, *numbers = event
        part = TopicPartition(topic, number)
        if kind == "restore_started":
            start, end = numbers
            with self._lock:
                self._stores[store, part] = Restoring(store, part, start, end, start)
            self.listener.on_restore_start(part, store, start, end)
        elif kind == "batch_restored":
            offset, records = numbers
            with self._lock:
                if (store, part) in self._stores:
                    known = self._stores[store, part]
                    self._stores[store, part] = replace(known, offset=offset)
            self.listener.on_batch_restored(part, store, offset, records)
        elif kind == "restore_ended":
            with self._lock:
                self._stores.pop((store, part), None)
            self.listener.on_restore_end(part, store, numbers[0])
