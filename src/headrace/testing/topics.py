"""Typed topics of the test driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.core.arguments import require_type, shown
from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError, SerializationError, StateError
from headrace.core.record import Header, Headers, Record
from headrace.serde.serde import Serde, check_serde

if TYPE_CHECKING:
    from headrace.testing.driver import TopologyTestDriver

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _to_ms(when: datetime | int) -> int:
    if isinstance(when, datetime):
        if when.tzinfo is None:
            raise ArgumentError(f"{when!r} has no time zone: is it UTC? Say so with tzinfo.")
        return to_ms(when - _EPOCH, "The timestamp")
    require_type(when, int, "A timestamp", "Give milliseconds since the epoch, or a datetime.")
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
        check_serde(key, f"The key serde of topic {name!r}")
        check_serde(value, f"The value serde of topic {name!r}")
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
            None if key is None else self._bytes_of(self._key, key, "key"),
            None if value is None else self._bytes_of(self._value, value, "value"),
            _to_ms(timestamp),
            headers,
        )

    def _bytes_of(self, serde: Serde[T], content: T, role: str) -> bytes:
        try:
            return serde.serialize(content)
        except Exception as reason:
            raise SerializationError(
                f"The {role} serde of input topic {self.name!r} can't write {shown(content)}: "
                f"{reason}. Pipe what it takes, or give the topic another serde."
            ) from reason

    def pipe_value(self, value: V | None, timestamp: datetime | int | None = None) -> None:
        """Pipe a record without a key."""
        self.pipe(None, value, timestamp)

    def pipe_record(self, record: Record[K, V]) -> None:
        """Pipe a record with its timestamp and headers."""
        self.pipe(record.key, record.value, record.timestamp, record.headers)

    def pipe_records(self, records: Iterable[Record[K, V]]) -> None:
        """Pipe records with their timestamps and headers."""
        for record in records:
            self.pipe_record(record)

    def pipe_key_values(
        self,
        pairs: Iterable[tuple[K | None, V | None]] | Mapping[K, V],
        *,
        start: datetime | int | None = None,
        advance: timedelta | None = None,
    ) -> None:
        """Pipe (key, value) pairs; with `start` and `advance` these say their timestamps."""
        if isinstance(pairs, Mapping):
            pairs = pairs.items()
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
        check_serde(key, f"The key serde of topic {name!r}")
        check_serde(value, f"The value serde of topic {name!r}")
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
        key = None if sent.key is None else self._read(self._key, sent.key, "key")
        value = None if sent.value is None else self._read(self._value, sent.value, "value")
        return Record(key, value, sent.timestamp, Headers(sent.headers))  # type: ignore[arg-type]

    def _read(self, serde: Serde[T], data: bytes, role: str) -> T:
        try:
            return serde.deserialize(data)
        except Exception as reason:
            raise SerializationError(
                f"The {role} serde of output topic {self.name!r} can't read {shown(data)}: "
                f"{reason}. Give it the serde that the topology writes the topic with."
            ) from reason

    def read_key_value(self) -> tuple[K, V]:
        """Key and value of the next record. Raises StateError if there is none."""
        record = self.read_record()
        return record.key, record.value

    def read_value(self) -> V:
        """The value of the next record. Raises StateError if there is none."""
        return self.read_record().value

    def read_records(self) -> list[Record[K, V]]:
        """All records that were not read yet."""
        return [self.read_record() for _ in range(len(self))]

    def read_key_values(self) -> list[tuple[K, V]]:
        """Keys and values of all records that were not read yet."""
        return [(record.key, record.value) for record in self.read_records()]

    def read_values(self) -> list[V]:
        """The values of all records that were not read yet."""
        return [record.value for record in self.read_records()]

    def read_map(self) -> dict[K, V]:
        """The last value of each key, of the records that were not read yet."""
        return dict(self.read_key_values())

    def __len__(self) -> int:
        return self._driver.unread(self.name)

    @property
    def is_empty(self) -> bool:
        """Whether all records were read."""
        return len(self) == 0
