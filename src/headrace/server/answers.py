"""What the server answers, as JSON: the fields of these classes.

Times are milliseconds since 1970, durations are milliseconds. The OpenAPI document is made of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

StateName = Literal[
    "CREATED",
    "REBALANCING",
    "RUNNING",
    "PENDING_SHUTDOWN",
    "NOT_RUNNING",
    "PENDING_ERROR",
    "ERROR",
]
StoreKind = Literal["key-value", "versioned", "window", "session", "internal"]
Lookup = Literal["value", "entries", "windows", "sessions", "versions"]
Encoding = Literal["text", "json", "base64"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no answer (RFC 9457). `kind` is for programs, `hint` says what to do."""

    type: str
    title: str
    status: int
    detail: str
    kind: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the application does its work."""

    healthy: bool
    state: StateName


@dataclass(frozen=True, slots=True)
class Restoration:
    """A store partition that is being restored: it has read its changelog from `start` to before
    `offset`, and has to go to `end`."""

    store: str
    topic: str
    partition: int
    start: int
    end: int
    offset: int


@dataclass(frozen=True, slots=True)
class State:
    """How the application is. `lag` is null until somebody has looked; `reason` is why it doesn't
    get on, if anything keeps it."""

    application_id: str
    state: StateName
    paused: bool
    version: str
    uptime_ms: int
    tasks: int
    records_total: int
    rate: float
    lag: int | None
    batches: int
    batch_ms: float
    restoring: list[Restoration]
    reason: str | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the topology. `topics` are those it reads or writes, in full; a source may have a
    `pattern` instead, and a sink an `extractor`, the function that names its topic."""

    name: str
    kind: Literal["source", "processor", "sink"]
    topics: list[str]
    pattern: str | None
    extractor: str | None
    stores: list[str]


@dataclass(frozen=True, slots=True)
class Subtopology:
    """`edges` are pairs of node names, from and to."""

    id: int
    is_global: bool
    nodes: list[Node]
    edges: list[list[str]]
    stores: list[str]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that the topology reads or writes. `partitions` is null until it is known."""

    name: str
    internal: bool
    partitions: int | None
    read_by: list[str]
    written_by: list[str]


@dataclass(frozen=True, slots=True)
class Topology:
    """`description` is Kafka Streams' text."""

    description: str
    subtopologies: list[Subtopology]
    topics: list[Topic]


@dataclass(frozen=True, slots=True)
class InputPartition:
    """An input of a task. `position` is the next offset to process, `end` the offset after the last
    record when somebody last looked, and `lag` how far it was behind then; null: not known yet."""

    topic: str
    partition: int
    source: str
    position: int | None
    end: int | None
    lag: int | None


@dataclass(frozen=True, slots=True)
class Task:
    """`records_total` and `rate` (a second, lately) count what it has processed. `worker` is the
    process that ran its last batch."""

    id: str
    subtopology: int
    partition: int
    slot: int
    worker: str | None
    records_total: int
    rate: float
    restored_total: int
    lag: int | None
    inputs: list[InputPartition]
    stores: list[str]
    dropped_total: int


@dataclass(frozen=True, slots=True)
class Tasks:
    tasks: list[Task]


@dataclass(frozen=True, slots=True)
class Store:
    """`partitions` are those it has, empty while that isn't known and for a global store.
    `lookups` are the routes that it answers. `key_encoding` is how keys are written in URLs unless
    `encoding` says otherwise."""

    name: str
    kind: StoreKind
    timestamped: bool
    is_global: bool
    persistent: bool
    changelog: str | None
    subtopology: int | None
    partitions: list[int]
    lookups: list[Lookup]
    key_encoding: Encoding


@dataclass(frozen=True, slots=True)
class Stores:
    stores: list[Store]


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a key. Of a versioned store, the version; `valid_to` is null for the latest."""

    key: Any
    value: Any
    timestamp: int | None
    valid_to: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    key: Any
    value: Any
    timestamp: int | None


@dataclass(frozen=True, slots=True)
class Entries:
    """A page. `next` is the `cursor` of the next one, null after the last."""

    items: list[Entry]
    next: str | None


@dataclass(frozen=True, slots=True)
class Window:
    """The value of a key in a window or session. `end` is exclusive in time windows and inclusive
    in sliding and session windows."""

    key: Any
    start: int
    end: int
    value: Any
    timestamp: int | None


@dataclass(frozen=True, slots=True)
class Windows:
    """A page, as of entries."""

    items: list[Window]
    next: str | None


@dataclass(frozen=True, slots=True)
class Version:
    """`valid_to` is null for the latest version."""

    value: Any
    timestamp: int
    valid_to: int | None


@dataclass(frozen=True, slots=True)
class Versions:
    """A page, as of entries."""

    items: list[Version]
    next: str | None


@dataclass(frozen=True, slots=True)
class StoreLag:
    """How far the local copy of a store partition is behind its changelog."""

    store: str
    partition: int
    current: int
    end: int
    lag: int


@dataclass(frozen=True, slots=True)
class Lags:
    lags: list[StoreLag]


@dataclass(frozen=True, slots=True)
class TopicPartition:
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Client:
    """An instance: which stores and input partitions are there, and which copies of stores."""

    host: str
    port: int
    stores: list[str]
    partitions: list[TopicPartition]
    standby_stores: list[str]
    standby_partitions: list[TopicPartition]


@dataclass(frozen=True, slots=True)
class Metadata:
    clients: list[Client]


@dataclass(frozen=True, slots=True)
class Host:
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class KeyMetadata:
    """Where a key is."""

    active: Host
    standbys: list[Host]
    partition: int


@dataclass(frozen=True, slots=True)
class Setting:
    """`value` is text; a secret is shown as ****. `given`: it isn't only the default."""

    key: str
    value: str | None
    given: bool
    importance: Literal["high", "medium", "low", "internal", "client"]
    doc: str


@dataclass(frozen=True, slots=True)
class Configuration:
    settings: list[Setting]


@dataclass(frozen=True, slots=True)
class Metric:
    """Under Kafka Streams' names. A `value` of null was not measured lately."""

    name: str
    group: str
    description: str
    tags: dict[str, str]
    value: float | str | None


@dataclass(frozen=True, slots=True)
class Metrics:
    metrics: list[Metric]


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that a batch, or the application itself, reported. `task` is null if it is not of
    one task."""

    at: int
    kind: str
    message: str
    task: str | None
    worker: str | None


@dataclass(frozen=True, slots=True)
class Failures:
    """The latest first. `dropped_total` counts the records that were dropped, all over."""

    errors: list[Failure]
    dropped_total: int


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a topic, with key and value as its serdes read them. What they can't read is
    text, or base64 where it isn't UTF-8, and `problem` says why; what is long is text that is
    cut."""

    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any
    problem: str | None


@dataclass(frozen=True, slots=True)
class Records:
    """The latest first."""

    topic: str
    records: list[Record]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record of the dead letter topic. Keys and values are text, or base64 where they aren't
    UTF-8; what is long is cut. From `error` on, it is what its headers say."""

    partition: int
    offset: int
    timestamp: int
    key: str | None
    value: str | None
    error: str | None
    message: str | None
    source_topic: str | None
    source_partition: int | None
    source_offset: int | None


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The latest first. `topic` is null if the configuration names none."""

    topic: str | None
    records: list[DeadLetter]
