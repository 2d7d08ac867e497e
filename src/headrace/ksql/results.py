"""Results of queries: rows, as they come."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.turns import TURNS
from headrace.sql.schema import Column

T = TypeVar("T")

_MOST_WEIGHT = 1024 * 1024
"""Bytes, roughly, that wait for a reader."""

LIMIT_REACHED = "Limit Reached"
QUERY_COMPLETED = "Query Completed"


class QueryKind(Enum):
    """How a query is answered."""

    PULL = "PULL"
    """From the rows that a table has now."""
    STREAM_PULL = "STREAM_PULL"
    """From what a stream has by now."""
    PUSH = "PUSH"
    """By changes, as they come, until it is closed."""
    SCALABLE_PUSH = "SCALABLE_PUSH"
    """The same, of what a persistent query writes."""


class Row(NamedTuple):
    """A row of an answer: SQL values in Python, as `headrace.sql` has them, in the order of the
    columns. Of a tombstone only the key columns have values."""

    values: tuple[Any, ...]
    tombstone: bool = False


class Closed(Exception):
    """Nobody wants the rows any more."""


class ResultStream(Generic[T]):
    """What a query gives, from the thread that runs it to whoever writes the answer.

    Between them is a buffer with a bound: of items, and if it can `weigh` them, of their sizes. The
    reader takes what is there (`take`), after it has waited for it (`wait`) or was told that there
    is something (`on_ready`). It is through if `take` gives nothing and `ended` is true: then
    `error` and `final_message` say how it ended.
    """

    def __init__(
        self,
        capacity: int = 1_000,
        patience_s: float = 30.0,
        weigh: Callable[[T], int] | None = None,
    ) -> None:
        self._capacity = capacity
        self._weigh = weigh
        self._weight = 0
        self._patience_s = patience_s
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._finished = False
        self._closed = False
        self._ready: Callable[[], None] | None = None
        self._on_close: list[Callable[[], None]] = []
        self.error: KsqlError | None = None
        """What it ended with."""
        self.final_message: str | None = None
        """What is said at its end, if something is."""

    @classmethod
    def of(cls, items: Iterable[T]) -> ResultStream[T]:
        """One that is complete."""
        stream = cls()
        stream._items.extend(items)
        stream._finished = True
        return stream

    # For the reader

    def take(self, limit: int = 1_000) -> list[T]:
        """What is there, without waiting: at most `limit` of it."""
        with self._changed:
            taken = [self._items.popleft() for _ in range(min(limit, len(self._items)))]
            if taken:
                if self._weigh is not None:
                    self._weight -= sum(map(self._weigh, taken))
                self._changed.notify_all()
            return taken

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until there is something to take or it has ended. Whether that came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._items) or self._finished, timeout_s)

    def on_ready(self, call: Callable[[], None] | None) -> None:
        """Have a function called, in any thread, whenever there is something new to take, and at
        the end; at once, if that is so now. It must not block."""
        with self._changed:
            self._ready = call
            now = bool(self._items) or self._finished
        if now and call is not None:
            call()

    @property
    def ended(self) -> bool:
        """Whether nothing will come any more; what is there can still be taken."""
        return self._finished

    def close(self) -> None:
        """Have no more of it. The query ends."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._finished = True
            self._changed.notify_all()
            calls = list(self._on_close)
        for call in calls:
            call()
        self._tell()

    def __iter__(self) -> Iterator[T]:
        """All of it, waiting for each. Raises the error that it ends with."""
        while True:
            self.wait()
            taken = self.take()
            yield from taken
            if not taken and self.ended:
                if self.error is not None:
                    raise self.error
                return

    # For the query

    @property
    def closed(self) -> bool:
        return self._closed

    def on_close(self, call: Callable[[], None]) -> None:
        """Have a function called when the reader has closed it; at once, if it has."""
        with self._changed:
            if not self._closed:
                self._on_close.append(call)
                return
        call()

    def put(self, item: T) -> None:
        """Add to it. Waits while the buffer is full; if the reader takes nothing for too long, it
        ends with an error. Raises Closed if nobody wants more. For the one thread of the query."""
        if not self._has_room():
            with TURNS.waiting():
                self._wait_for_room()
        with self._changed:
            if self._finished:
                raise Closed
            if self._weigh is not None:
                self._weight += self._weigh(item)
            self._items.append(item)
            self._changed.notify_all()
        self._tell()

    def _wait_for_room(self) -> None:
        with self._changed:
            in_time = self._changed.wait_for(
                lambda: self._has_room() or self._finished, self._patience_s
            )
        if not in_time:
            self.fail(
                KsqlError(
                    ErrorCode.SERVER_ERROR,
                    f"The query was ended: its client has not read for {self._patience_s:g} "
                    f"seconds, and {len(self._items)} rows wait for it. Read faster, or ask for "
                    "less.",
                )
            )

    def _has_room(self) -> bool:
        return len(self._items) < self._capacity and self._weight < _MOST_WEIGHT

    def finish(self, message: str | None = None) -> None:
        """It is complete."""
        with self._changed:
            if self._finished:
                return
            self.final_message = message
            self._finished = True
            self._changed.notify_all()
        self._tell()

    def fail(self, error: KsqlError) -> None:
        """It ends with an error."""
        with self._changed:
            if self._finished:
                return
            self.error = error
            self._finished = True
            self._changed.notify_all()
        self._tell()

    def _tell(self) -> None:
        call = self._ready
        if call is not None:
            call()


@dataclass(frozen=True)
class QueryResult:
    """The answer of a SELECT: its columns, and its rows as they come."""

    query_id: str
    kind: QueryKind
    columns: tuple[Column, ...]
    rows: ResultStream[Row]

    @property
    def schema(self) -> str:
        """As the header in v1 form has it: key columns of pull queries say so."""
        return ", ".join(map(str, self.columns))


class PrintLine(NamedTuple):
    """A line of PRINT. `about_format`: `Key format: …` and `Value format: …`."""

    text: str
    about_format: bool = False


@dataclass(frozen=True)
class PrintResult:
    """The answer of a PRINT: lines of text as they come. Lines about formats are told apart, as
    only `/query` sends them."""

    query_id: str
    topic: str
    lines: ResultStream[PrintLine]
