"""What a processor node does: one immutable spec for each operator.

The DSL writes them and a runtime executes them; this page is where the two meet. A field called
`…_store` names a state store. `send_old_values` says that a later operator needs the old value in
every `Change`. (They are named tuples because so many dataclasses take long to import.)
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple, TextIO

from headrace.serde.serde import SerdeLike
from headrace.topology.views import Function, JoinKind, TableView
from headrace.topology.windows import (
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

# Streams, stateless


class Filter(NamedTuple):
    """Passes what `predicate(key, value)` accepts, or with `negate` what it doesn't."""

    predicate: Function
    negate: bool = False


class MapValues(NamedTuple):
    """`mapper(value)`, or `mapper(key, value)` if `with_key`."""

    mapper: Function
    with_key: bool = False


class Map(NamedTuple):
    """`mapper(key, value)` gives (key, value)."""

    mapper: Function


class SelectKey(NamedTuple):
    """`selector(key, value)` gives the new key."""

    selector: Function


class FlatMap(NamedTuple):
    """`mapper(key, value)` gives any number of (key, value)."""

    mapper: Function


class FlatMapValues(NamedTuple):
    """`mapper(value)`, or `mapper(key, value)` if `with_key`, gives any number of values."""

    mapper: Function
    with_key: bool = False


class Peek(NamedTuple):
    """Calls `action(key, value)` and passes the record on."""

    action: Function


class Foreach(NamedTuple):
    """Calls `action(key, value)`; a dead end."""

    action: Function


class Print(NamedTuple):
    """Prints `[label]: key, value` or what `mapper(key, value)` gives; a dead end.

    `file` is a path that is appended to, a text stream, or None for standard output.
    """

    label: str
    file: str | TextIO | None = None
    mapper: Function | None = None


class Branch(NamedTuple):
    """Passes a record to the child of the first predicate that accepts it.

    `children[i]` is the node of `predicates[i]`; one more child is the default branch.
    """

    predicates: tuple[Function, ...]
    children: tuple[str, ...]


class PassThrough(NamedTuple):
    """Passes every record on: merges, and the start of a branch."""


class RepartitionFilter(NamedTuple):
    """Drops records without a key before a repartition topic, silently."""


# The Processor API


class Process(NamedTuple):
    """`supplier()` makes a Processor."""

    supplier: Function


class ProcessValues(NamedTuple):
    """`supplier()` makes a FixedKeyProcessor."""

    supplier: Function


# Tables


class TableSource(NamedTuple):
    """Makes a table of a stream of upserts, with a store if `store` is named."""

    store: str | None
    send_old_values: bool = False


class TableFilter(NamedTuple):
    """Rows that `predicate(key, value)` accepts; what it doesn't becomes a deletion.

    `versioned`: the input is versioned, so that deletions of nothing are passed on.
    """

    predicate: Function
    negate: bool
    store: str | None = None
    send_old_values: bool = False
    versioned: bool = False


class TableMapValues(NamedTuple):
    mapper: Function
    with_key: bool = False
    store: str | None = None
    send_old_values: bool = False


class TableTransformValues(NamedTuple):
    """`supplier()` makes a transformer; it is called for deletions too."""

    supplier: Function
    store: str | None = None
    send_old_values: bool = False


class TableToStream(NamedTuple):
    """The new values of a table, deletions as None."""


class TableRepartitionMap(NamedTuple):
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


class Suppress(NamedTuple):
    """Holds updates back for `wait_ms` of stream time, or until the buffer is full."""

    buffer_store: str
    time: SuppressTime
    wait_ms: int
    max_records: int | None
    max_bytes: int | None
    when_full: BufferFull
    drop_tombstones: bool


# Aggregations


def count_up(key: Any, value: Any, count: int) -> int:
    """The aggregator of `count`. It doesn't look at the value, so that nobody need read it."""
    return count + 1


class StreamAggregate(NamedTuple):
    """`aggregator(key, value, aggregate)`, beginning with `initializer()`."""

    store: str
    initializer: Function
    aggregator: Function
    send_old_values: bool = False


class StreamReduce(NamedTuple):
    """`reducer(aggregate, value)`, beginning with the first value."""

    store: str
    reducer: Function
    send_old_values: bool = False


class StreamWindowAggregate(NamedTuple):
    store: str
    windows: TimeWindows | UnlimitedWindows
    initializer: Function
    aggregator: Function
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE
    send_old_values: bool = False


class StreamSlidingWindowAggregate(NamedTuple):
    store: str
    windows: SlidingWindows
    initializer: Function
    aggregator: Function
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE
    send_old_values: bool = False


class StreamSessionWindowAggregate(NamedTuple):
    """`merger(key, one, other)` joins two sessions into one."""

    store: str
    windows: SessionWindows
    initializer: Function
    aggregator: Function
    merger: Function
    emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE
    send_old_values: bool = False


class TableAggregate(NamedTuple):
    """`subtractor(key, old, aggregate)` first, then `adder(key, new, aggregate)`."""

    store: str
    initializer: Function
    adder: Function
    subtractor: Function
    send_old_values: bool = False


class TableReduce(NamedTuple):
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


class JoinSide(Enum):
    LEFT = "left"
    RIGHT = "right"


class JoinWindowPut(NamedTuple):
    """Passes a record to its side of a stream-stream join, then puts it in that side's store."""

    store: str


class StreamStreamJoin(NamedTuple):
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


class StreamSelfJoin(NamedTuple):
    """A stream-stream inner join of a stream with itself, with one store."""

    windows: JoinWindows
    store: str
    joiner: Function
    with_key: bool


class StreamTableJoin(NamedTuple):
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


class StreamGlobalTableJoin(NamedTuple):
    """Looks `key_selector(key, value)` up in a global table. The joiner gets the stream's key."""

    table: TableView
    kind: JoinKind
    key_selector: Function
    joiner: Function
    with_key: bool


class TableTableJoin(NamedTuple):
    """One side of a table-table join: updates of this side, against the other table."""

    kind: JoinKind
    side: JoinSide
    other: TableView
    joiner: Function
    send_old_values: bool = False
    versioned: bool = False


class TableJoinMerge(NamedTuple):
    """Brings both sides of a table-table join together, with a store if one is named."""

    store: str | None
    send_old_values: bool = False


# The foreign-key join, in the order of a record's way


class ForeignKeySubscriptionSend(NamedTuple):
    """Left table: subscribes to `foreign_key(value)` (or `(key, value)` if `with_key`)."""

    kind: JoinKind
    foreign_key: Function
    with_key: bool
    foreign_key_serde: SerdeLike
    value_serde: SerdeLike
    versioned: bool = False


class ForeignKeySubscriptionReceive(NamedTuple):
    """Right side: keeps the subscriptions under (foreign key, primary key)."""

    store: str


class ForeignKeySubscriptionJoin(NamedTuple):
    """Right side: answers a new subscription with the current row of the foreign table."""

    table: TableView


class ForeignTableJoin(NamedTuple):
    """Right table: tells all subscribers of a key about its update."""

    store: str
    foreign_key_serde: SerdeLike
    versioned: bool = False


class ForeignKeyResponseJoin(NamedTuple):
    """Left side: joins a response with the row it answers, unless that has changed since."""

    table: TableView
    kind: JoinKind
    joiner: Function
    value_serde: SerdeLike


Operator = (
    Filter
    | MapValues
    | Map
    | SelectKey
    | FlatMap
    | FlatMapValues
    | Peek
    | Foreach
    | Print
    | Branch
    | PassThrough
    | RepartitionFilter
    | Process
    | ProcessValues
    | TableSource
    | TableFilter
    | TableMapValues
    | TableTransformValues
    | TableToStream
    | TableRepartitionMap
    | Suppress
    | StreamAggregate
    | StreamReduce
    | StreamWindowAggregate
    | StreamSlidingWindowAggregate
    | StreamSessionWindowAggregate
    | TableAggregate
    | TableReduce
    | JoinWindowPut
    | StreamStreamJoin
    | StreamSelfJoin
    | StreamTableJoin
    | StreamGlobalTableJoin
    | TableTableJoin
    | TableJoinMerge
    | ForeignKeySubscriptionSend
    | ForeignKeySubscriptionReceive
    | ForeignKeySubscriptionJoin
    | ForeignTableJoin
    | ForeignKeyResponseJoin
)
