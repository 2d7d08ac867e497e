"""What flows: headers, records, and where a record came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from headrace.core.errors import StreamsError

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")

Header = tuple[str, bytes | None]

NO_HEADERS: tuple[Header, ...] = ()
"""What a record without headers carries inside the runtime: shared, and so immutable."""


class Headers(list[Header]):
    """A record's headers: an ordered list of (name, value) in which names may repeat."""

    def add(self, name: str, value: bytes | None) -> Headers:
        """Append a header."""
        self.append((name, value))
        return self

    def remove_all(self, name: str) -> Headers:
        """Remove every header called `name`."""
        self[:] = [header for header in self if header[0] != name]
        return self

    def last(self, name: str) -> bytes | None:
        """The value of the last header called `name`, or None."""
        for header_name, value in reversed(self):
            if header_name == name:
                return value
        return None


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class TaskId(NamedTuple):
    """A task is one partition of one sub-topology, written `1_3`."""

    subtopology: int
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"


class RecordMetadata(NamedTuple):
    """Where the record being processed was read. In a punctuation there is none: the topic is
    None, partition and offset are -1."""

    topic: str | None
    partition: int
    offset: int

    def __str__(self) -> str:
        if self.topic is None:
            return "a punctuation"
        return f"{self.topic}-{self.partition}@{self.offset}"


class ConsumerRecord(NamedTuple):
    """A record as it was read from a topic. A timestamp extractor gets it with key and value
    deserialized, everything else with their bytes."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any
    headers: Sequence[Header] = NO_HEADERS


class ProducerRecord(NamedTuple):
    """A record as it goes to a topic. Partition None lets the default partitioner decide, and
    timestamp None the producer's clock. A production handler gets a record that could not be
    serialized with its key and value as they were."""

    topic: str
    partition: int | None
    key: Any
    value: Any
    timestamp: int | None
    headers: Sequence[Header] = NO_HEADERS


@dataclass(slots=True)
class Record(Generic[K, V]):
    """A record as a processor sees it.

    The `with_…` methods make a new record with its own copy of the headers; a record that is
    forwarded as it is shares its headers with every child.
    """

    key: K
    value: V
    timestamp: int
    headers: Headers = field(default_factory=Headers)

    def __post_init__(self) -> None:
        if self.timestamp < 0:
            raise StreamsError(
                f"Malformed record: timestamp {self.timestamp} is negative. "
                "Give the record a timestamp of 0 or later."
            )

    def with_key(self, key: K2) -> Record[K2, V]:
        """A record with another key."""
        return Record(key, self.value, self.timestamp, Headers(self.headers))

    def with_value(self, value: V2) -> Record[K, V2]:
        """A record with another value."""
        return Record(self.key, value, self.timestamp, Headers(self.headers))

    def with_timestamp(self, timestamp: int) -> Record[K, V]:
        """A record with another timestamp. Raises StreamsError if it is negative."""
        return replace(self, timestamp=timestamp, headers=Headers(self.headers))

    def with_headers(self, headers: Iterable[Header]) -> Record[K, V]:
        """A record with other headers."""
        return replace(self, headers=Headers(headers))


@dataclass(slots=True)
class FixedKeyRecord(Generic[K, V]):
    """A record whose key may not be changed, as `process_values` sees it."""

    _key: K
    value: V
    timestamp: int
    headers: Headers = field(default_factory=Headers)

    @property
    def key(self) -> K:
        """The key, which can't be set."""
        return self._key

    def with_value(self, value: V2) -> FixedKeyRecord[K, V2]:
        """A record with another value."""
        return FixedKeyRecord(self._key, value, self.timestamp, Headers(self.headers))

    def with_timestamp(self, timestamp: int) -> FixedKeyRecord[K, V]:
        """A record with another timestamp. To forward a negative one raises StreamsError."""
        return replace(self, timestamp=timestamp, headers=Headers(self.headers))

    def with_headers(self, headers: Iterable[Header]) -> FixedKeyRecord[K, V]:
        """A record with other headers."""
        return replace(self, headers=Headers(headers))


class Change(NamedTuple):
    """An update of a table. `old` is filled only where a later operator asked for it.

    `is_latest` is False for an out-of-order update of a versioned table.
    """

    new: Any
    old: Any = None
    is_latest: bool = True


class ValueAndTimestamp(NamedTuple):
    """What a timestamped store holds for a key."""

    value: Any
    timestamp: int


class VersionedRecord(NamedTuple):
    """A version of a key in a versioned store; `valid_to` is None for the latest one."""

    value: Any
    timestamp: int
    valid_to: int | None = None
