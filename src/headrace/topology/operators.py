"""What a processor node does: one frozen spec for each operator.

The DSL writes them and a runtime executes them; this page is where the two meet. A field called
`…_store` names a state store. `send_old_values` says that a later operator needs the old value in
every `Change`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TextIO

from headrace.serde.serde import SerdeLike
from headrace.topology.windows import (
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Operator:
    """The base of all operators."""


# Streams, stateless


@dataclass(frozen=True, slots=True)
class Filter(Operator):
    """Passes what `predicate(key, value)` accepts, or with `negate` what it doesn't."""

    predicate: Function
    negate: bool = False


@dataclass(frozen=True, slots=True)
class MapValues(Operator):
    """`mapper(value)`, or `mapper(key, value)` if `with_key`."""

    mapper: Function
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class Map(Operator):
    """`mapper(key, value)` gives (key, value)."""

    mapper: Function


@dataclass(frozen=True, slots=True)
class SelectKey(Operator):
    """`selector(key, value)` gives the new key."""

    selector: Function


@dataclass(frozen=True, slots=True)
class FlatMap(Operator):
    """`mapper(key, value)` gives any number of (key, value)."""

    mapper: Function


@dataclass(frozen=True, slots=True)
class FlatMapValues(Operator):
    """`mapper(value)`, or `mapper(key, value)` if `with_key`, gives any number of values."""

    mapper: Function
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class Peek(Operator):
    """Calls `action(key, value)` and passes the record on."""

    action: Function


@dataclass(frozen=True, slots=True)
class Foreach(Operator):
    """Calls `action(key, value)`; a dead end."""

    action: Function


@dataclass(frozen=True, slots=True)
class Print(Operator):
    """Prints `[label]: key, value` or what `mapper(key, value)` gives; a dead end.

    `file` is a path that is appended to, a text stream, or None for standard output.
    """

    label: str
    file: str | TextIO | None = None
    mapper: Function | None = None


@dataclass(frozen=True, slots=True)
class Branch(Operator):
    """Passes a record to the child of the first predicate that accepts it.

    `children[i]` is the node of `predicates[i]`; one more child is the default branch.
    """

    predicates: tuple[Function, ...]
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PassThrough(Operator):
    """Passes every record on: merges, and the start of a branch."""


@dataclass(frozen=True, slots=True)
class RepartitionFilter(Operator):
    """Drops records without a key before a repartition topic, silently."""


# The Processor API


@dataclass(frozen=True, slots=True)
class Process(Operator):
    """`supplier()` makes a Processor."""

    supplier: Function


@dataclass(frozen=True, slots=True)
class ProcessValues(Operator):
    """`supplier()` makes a FixedKeyProcessor."""

    supplier: Function


# How the current value of a table is read


@dataclass(frozen=True, slots=True)
class TableView:
    """A way to read the current value of a key of a table."""


@dataclass(frozen=True, slots=True)
class StoreView(TableView):
    """The table is kept in a (timestamped or versioned) key-value store."""

    store: str


@dataclass(frozen=True, slots=True)
class WindowStoreView(TableView):
    """The table is kept in a timestamped window store."""

    store: str


@dataclass(frozen=True, slots=True)
class SessionStoreView(TableView):
    """The table is kept in a session store."""

    store: str


@dataclass(frozen=True, slots=True)
class FilterView(TableView):
    parent: TableView
    predicate: Function
    negate: bool


@dataclass(frozen=True, slots=True)
class MapValuesView(TableView):
    parent: TableView
    mapper: Function
    with_key: bool


@dataclass(frozen=True, slots=True)
class TransformValuesView(TableView):
    """A transformer of its own (`supplier()`), run over the parent's value."""

    parent: TableView
    supplier: Function


@dataclass(frozen=True, slots=True)
class RepartitionMapView(TableView):
    """The (key, value) that `mapper` makes of the parent's current value."""

    parent: TableView
    mapper: Function


@dataclass(frozen=True, slots=True)
class JoinView(TableView):
    """The current result of joining two tables. `kind` as in TableTableJoin; left is `this`."""

    kind: JoinKind
    this: TableView
    other: TableView
    joiner: Function


@dataclass(frozen=True, slots=True)
class SuppressView(TableView):
    """The value before those that the suppression buffer holds back, else the parent's."""

    parent: TableView
    buffer_store: str


# Tables


@dataclass(frozen=True, slots=True)
class TableSource(Operator):
    """Makes a table of a stream of upserts, with a store if `store` is named."""

    store: str | None
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class TableFilter(Operator):
    """Rows that `predicate(key, value)` accepts; what it doesn't becomes a deletion.

    `versioned`: the input is versioned, so that deletions of nothing are passed on.
    """

    predicate: Function
    negate: bool
    store: str | None = None
    send_old_values: bool = False
    versioned: bool = False


@dataclass(frozen=True, slots=True)
class TableMapValues(Operator):
    mapper: Function
    with_key: bool = False
    store: str | None = None
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class TableTransformValues(Operator):
    """`supplier()` makes a transformer; it is called for deletions too."""

    supplier: Function
    store: str | None = None
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class TableToStream(Operator):
    """The new values of a table, deletions as None."""


@dataclass(frozen=True, slots=True)
class TableRepartitionMap(Operator):
    """Re-keys table updates for `KTable.group_by`: a `Change` under the old and the new key.

    With the setting `upgrade.from` before 3.5, two records are sent even if the key stays.
    `versioned`: drop out-of-order updates of a versioned table.
    """

    mapper: Function
    versioned: bool = False


class SuppressTime(Enum):
    """What a suppression counts its time limit from."""

    RECORD = "record"
    WINDOW_END = "window_end"


class BufferFull(Enum):
    EMIT = "emit"
    SHUT_DOWN = "shut_down"


@dataclass(frozen=True, slots=True)
class Suppress(Operator):
    """Holds updates back for `wait_ms` of stream time, or until the buffer is full."""

    buffer_store: str
    time: SuppressTime
    wait_ms: int
    max_records: int | None
    max_bytes: int | None
    when_full: BufferFull
    drop_tombstones: bool


# Aggregations


@dataclass(frozen=True, slots=True)
class StreamAggregate(Operator):
    """`aggregator(key, value, aggregate)`, beginning with `initializer()`."""

    store: str
    initializer: Function
    aggregator: Function
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class StreamReduce(Operator):
    """`reducer(aggregate, value)`, beginning with the first value."""

    store: str
    reducer: Function
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class StreamWindowAggregate(Operator):
    store: str
    windows: TimeWindows | UnlimitedWindows
    initializer: Function
    aggregator: Function
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class StreamSlidingWindowAggregate(Operator):
    store: str
    windows: SlidingWindows
    initializer: Function
    aggregator: Function
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class StreamSessionWindowAggregate(Operator):
    """`merger(key, one, other)` joins two sessions into one."""

    store: str
    windows: SessionWindows
    initializer: Function
    aggregator: Function
    merger: Function
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class TableAggregate(Operator):
    """`subtractor(key, old, aggregate)` first, then `adder(key, new, aggregate)`."""

    store: str
    initializer: Function
    adder: Function
    subtractor: Function
    send_old_values: bool = False


@dataclass(frozen=True, slots=True)
class TableReduce(Operator):
    """`subtractor(aggregate, old)` first, then `adder(aggregate, new)`."""

    store: str
    adder: Function
    subtractor: Function
    send_old_values: bool = False


Aggregation = (
    StreamAggregate
    | StreamReduce
    | StreamWindowAggregate
    | StreamSlidingWindowAggregate
    | StreamSessionWindowAggregate
    | TableAggregate
    | TableReduce
)


# Joins. A joiner is called `joiner(left, right)`, or `joiner(key, left, right)` if `with_key`,
# whichever side came first.


class JoinKind(Enum):
    INNER = "inner"
    LEFT = "left"
    OUTER = "outer"


class JoinSide(Enum):
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class JoinWindowPut(Operator):
    """Passes a record to its side of a stream-stream join, then puts it in that side's store."""

    store: str


@dataclass(frozen=True, slots=True)
class StreamStreamJoin(Operator):
    """One side of a stream-stream join.

    `join` names the join: both sides share its notion of stream time. `emit_unmatched`: records of
    this side that find no partner are emitted. `outer_store` keeps them until their window closes.
    """

    join: str
    side: JoinSide
    windows: JoinWindows
    other_store: str
    outer_store: str | None
    joiner: Function
    with_key: bool
    emit_unmatched: bool


@dataclass(frozen=True, slots=True)
class StreamSelfJoin(Operator):
    """A stream-stream inner join of a stream with itself, with one store."""

    windows: JoinWindows
    store: str
    joiner: Function
    with_key: bool


@dataclass(frozen=True, slots=True)
class StreamTableJoin(Operator):
    """Looks the stream record's key up in a table.

    With `buffer_store` and `grace_ms`, records wait in the buffer until stream time has passed
    them by the grace period, and are then looked up as of their own time.
    """

    table: TableView
    kind: JoinKind
    joiner: Function
    with_key: bool
    buffer_store: str | None = None
    grace_ms: int | None = None


@dataclass(frozen=True, slots=True)
class StreamGlobalTableJoin(Operator):
    """Looks `key_selector(key, value)` up in a global table. The joiner gets the stream's key."""

    table: TableView
    kind: JoinKind
    key_selector: Function
    joiner: Function
    with_key: bool


@dataclass(frozen=True, slots=True)
class TableTableJoin(Operator):
    """One side of a table-table join: updates of this side, against the other table."""

    kind: JoinKind
    side: JoinSide
    other: TableView
    joiner: Function
    send_old_values: bool = False
    versioned: bool = False


@dataclass(frozen=True, slots=True)
class TableJoinMerge(Operator):
    """Brings both sides of a table-table join together, with a store if one is named."""

    store: str | None
    send_old_values: bool = False


# The foreign-key join, in the order of a record's way


@dataclass(frozen=True, slots=True)
class ForeignKeySubscriptionSend(Operator):
    """Left table: subscribes to `foreign_key(value)` (or `(key, value)` if `with_key`)."""

    kind: JoinKind
    foreign_key: Function
    with_key: bool
    foreign_key_serde: SerdeLike
    value_serde: SerdeLike
    versioned: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKeySubscriptionReceive(Operator):
    """Right side: keeps the subscriptions under (foreign key, primary key)."""

    store: str


@dataclass(frozen=True, slots=True)
class ForeignKeySubscriptionJoin(Operator):
    """Right side: answers a new subscription with the current row of the foreign table."""

    table: TableView


@dataclass(frozen=True, slots=True)
class ForeignTableJoin(Operator):
    """Right table: tells all subscribers of a key about its update."""

    store: str
    foreign_key_serde: SerdeLike
    versioned: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKeyResponseJoin(Operator):
    """Left side: joins a response with the row it answers, unless that has changed since."""

    table: TableView
    kind: JoinKind
    joiner: Function
    value_serde: SerdeLike
