"""What the demo's application has written so far."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from headrace import serdes
from headrace.cli import store_purchases as store
from headrace.core.record import ConsumerRecord
from headrace.core.windowed import Window, Windowed
from headrace.serde.serde import Serde

WINDOWED = serdes.time_windowed(serdes.string(), store.WINDOW)
"""The keys of `department-counts`."""

_MOST_KEPT = 10


class Output(NamedTuple):
    """How to read the values of a topic, and what to show of them first."""

    value: Serde[Any]
    fields: tuple[str, ...]


OUTPUTS = {
    store.PATTERNS: Output(serdes.json(store.Pattern), ("zip_code", "item", "total")),
    store.REWARDS: Output(serdes.json(store.Reward), ("customer", "points", "all_points")),
    store.COFFEE: Output(store.PURCHASE, ("item", "total", "card")),
    store.ELECTRONICS: Output(store.PURCHASE, ("item", "total", "card")),
    store.KEPT_PURCHASES: Output(store.PURCHASE, ("item", "total", "card")),
    store.DEPARTMENT_COUNTS: Output(serdes.long(), ()),
}


class Results:
    """Adds up the records of the output topics."""

    def __init__(self) -> None:
        self.records: Counter[str] = Counter()
        """How many, by topic."""
        self._counts: dict[Windowed[str], int] = {}
        self._last: dict[str, deque[ConsumerRecord]] = {
            topic: deque(maxlen=_MOST_KEPT) for topic in OUTPUTS
        }

    def add(self, records: Iterable[ConsumerRecord]) -> None:
        for record in records:
            self.records[record.topic] += 1
            self._last[record.topic].append(record)
            if record.topic == store.DEPARTMENT_COUNTS:
                self._counts[_key(record)] = _value(record)

    @property
    def are_complete(self) -> bool:
        """Whether there is something of every topic."""
        return len(self.records) == len(OUTPUTS)

    def windows(self) -> list[Window]:
        """The windows that have counts, the last one first."""
        return sorted({key.window for key in self._counts}, reverse=True)

    def count(self, department: str, window: Window) -> int:
        return self._counts.get(Windowed(department, window), 0)

    def last(self, topic: str, most: int) -> list[str]:
        """The last records, as text, the newest first."""
        return [_text(record) for record in reversed(self._last[topic])][:most]


def span(window: Window) -> str:
    """09:00-09:05, in the time of this machine."""
    return f"{_clock_time(window.start)}-{_clock_time(window.end)}"


def _text(record: ConsumerRecord) -> str:
    value = _value(record)
    if record.topic == store.DEPARTMENT_COUNTS:
        key = _key(record)
        return f"{key.key} {span(key.window)}: {value:,}"
    first = OUTPUTS[record.topic].fields
    fields = [*first, *(name for name in vars(value) if name not in first)]
    return ", ".join(f"{name}={getattr(value, name)}" for name in fields)


def _key(record: ConsumerRecord) -> Windowed[str]:
    assert record.key is not None
    return WINDOWED.deserialize(record.key)


def _value(record: ConsumerRecord) -> Any:
    assert record.value is not None
    return OUTPUTS[record.topic].value.deserialize(record.value)


def _clock_time(timestamp: int) -> str:
    return f"{datetime.fromtimestamp(timestamp / 1000):%H:%M}"
