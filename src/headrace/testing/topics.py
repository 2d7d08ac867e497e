"""Typed topics of the test driver."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError, StateError
from headrace.core.record import Header, Headers, Record
from headrace.serde.serde import Serde

if TYPE_CHECKING:
    from headrace.testing.driver import TopologyTestDriver

K = TypeVar("K")
V = TypeVar("V")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _to_ms(when: datetime | int) -> int:
    if isinstance(when, datetime):
        if when.tzinfo is None:
            raise ArgumentError(f"{when!r} has no time zone: is it UTC? Say so with tzinfo.")
        return to_ms(when - _EPOCH, "The timestamp")
    return when


class TestInputTopic(Generic[K, V]):
    """A topic to pipe records into. Times are datetimes or milliseconds since the epoch."""

    __test__ = False

    def __init__(
        self,
        driver: TopologyTestDriver,
        name: str,
        key: Serde[K],
        value: Serde[V],
        start: datetime | int | None,
        advance: timedelta,
    ) -> None:
        self._driver = driver
        self.name = name
        self._key = key
        self._value = value
        self._now = driver.clock.now_ms() if start is None else _to_ms(start)
        self._advance = _advance_ms(advance)

    def pipe(
        self,
        key: K | None,
        value: V | None,
        timestamp: datetime | int | None = None,
        headers: Iterable[Header] = (),
    ) -> None:
        """Pipe one record, and process all that follows from it."""
        if timestamp is None:
            timestamp = self._now
            self._now += self._advance
        self._driver.pipe(
            self.name,
            None if key is None else self._key.serialize(key),
            None if value is None else self._value.serialize(value),
            _to_ms(timestamp),
            headers,
        )

    def pipe_value(self, value: V | None, timestamp: datetime | int | None = None) -> None:
        """Pipe a record without a key."""
        self.pipe(None, value, timestamp)

    def pipe_record(self, record: Record[K, V]) -> None:
        self.pipe(record.key, record.value, record.timestamp, record.headers)

    def pipe_records(self, records: Iterable[Record[K, V]]) -> None:
        for record in records:
            self.pipe_record(record)

    def pipe_key_values(
        self,
        pairs: Iterable[tuple[K | None, V | None]],
        *,
        start: datetime | int | None = None,
        advance: timedelta | None = None,
    ) -> None:
        """Pipe (key, value) pairs; with `start` and `advance` these say their timestamps."""
        if start is None:
            for key, value in pairs:
                self.pipe(key, value)
            return
        step = _advance_ms(timedelta(0) if advance is None else advance)
        for index, (key, value) in enumerate(pairs):
            self.pipe(key, value, _to_ms(start) + index * step)

    def pipe_values(
        self,
        values: Iterable[V | None],
        *,
        start: datetime | int | None = None,
        advance: timedelta | None = None,
    ) -> None:
        """Pipe records without keys."""
        self.pipe_key_values(((None, value) for value in values), start=start, advance=advance)

    def advance_time(self, by: timedelta) -> None:
        """Move the time that records without a timestamp get."""
        self._now += _advance_ms(by)


def _advance_ms(advance: timedelta) -> int:
    advance_ms = to_ms(advance, "The advance")
    if advance_ms < 0:
        raise ArgumentError(f"Time can't be advanced backwards: {advance}")
    return advance_ms


class TestOutputTopic(Generic[K, V]):
    """A topic to read results from; each record is read once."""

    __test__ = False

    def __init__(
        self, driver: TopologyTestDriver, name: str, key: Serde[K], value: Serde[V]
    ) -> None:
        self._driver = driver
        self.name = name
        self._key = key
        self._value = value

    def read_record(self) -> Record[K, V]:
        """The next record. Raises StateError if there is none."""
        sent = self._driver.next_output(self.name)
        if sent is None:
            written = ", ".join(sorted(self._driver.produced_topic_names())) or "none"
            raise StateError(
                f"There is no record to read in topic {self.name!r}. Topics written to so far: "
                f"{written}."
            )
        key = None if sent.key is None else self._key.deserialize(sent.key)
        value = None if sent.value is None else self._value.deserialize(sent.value)
        return Record(key, value, sent.timestamp, Headers(sent.headers))  # type: ignore[arg-type]

    def read_key_value(self) -> tuple[K, V]:
        record = self.read_record()
        return record.key, record.value

    def read_value(self) -> V:
        return self.read_record().value

    def read_records(self) -> list[Record[K, V]]:
        """All records that were not read yet."""
        return [self.read_record() for _ in range(len(self))]

    def read_key_values(self) -> list[tuple[K, V]]:
        return [(record.key, record.value) for record in self.read_records()]

    def read_values(self) -> list[V]:
        return [record.value for record in self.read_records()]

    def read_map(self) -> dict[K, V]:
        """The last value of each key."""
        return dict(self.read_key_values())

    def __len__(self) -> int:
        return self._driver.unread(self.name)

    @property
    def is_empty(self) -> bool:
        return len(self) == 0
