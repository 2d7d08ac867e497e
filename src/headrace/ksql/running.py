"""Who runs persistent queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeVar

from headrace.sql.queries import PersistentQuery

T = TypeVar("T")

Find = Callable[[Any], Iterable[T]]
"""What is found in a store."""

Keys = Sequence[Any] | None
"""The keys that it is found by; None: any."""


class QueryState(Enum):
    """What a persistent query does, as ksqlDB calls it."""

    RUNNING = "RUNNING"
    ERROR = "ERROR"
    PAUSED = "PAUSED"
    UNRESPONSIVE = "UNRESPONSIVE"


@dataclass(frozen=True)
class QueryError:
    """What a query failed with. `kind` is USER, SYSTEM or UNKNOWN."""

    timestamp: int
    message: str
    kind: str = "UNKNOWN"

    def json(self) -> dict[str, Any]:
        return {
            "timestamp": self.timestamp,
            "errorMessage": self.message,
            "type": self.kind,
        }


class Runner(Protocol):
    """Runs persistent queries, each on its own: none is disturbed by what happens to another."""

    def start(self, query: PersistentQuery, *, paused: bool = False) -> None:
        """Run a query; in the place of the one that has its id, if there is one. Returns at once,
        and raises nothing: what goes wrong is in `errors`."""
        ...

    def stop(self, query_id: str, *, forget: bool) -> None:
        """End a query. `forget`: for good, so that its state and its own topics are deleted."""
        ...

    def pause(self, query_id: str) -> None: ...

    def resume(self, query_id: str) -> None: ...

    def state(self, query_id: str) -> QueryState: ...

    def errors(self, query_id: str) -> list[QueryError]:
        """What the query failed with, the last of them."""
        ...

    def look_up(self, query_id: str, store: str, find: Find[T], keys: Keys = None) -> list[T]:
        """What `find` finds in a store of a query, partition by partition. If there is something in
        the one where a single key belongs, others need not be asked. Raises HeadraceError if the
        query isn't running now."""
        ...

    def close(self) -> None:
        """End all queries, and keep their state."""
        ...
