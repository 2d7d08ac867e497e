"""A query to a store, and the answers of its partitions."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from headrace.core.errors import ArgumentError, StoreNotAvailableError
from headrace.core.record import TopicPartition
from headrace.query.local_state import GLOBAL, LocalState, StorePartition
from headrace.query.queries import Query
from headrace.state.reader import Snapshot

Position = Mapping[TopicPartition, int]
"""The offsets of the last records that a store has seen."""


class FailureReason(Enum):
    """Why a partition could not answer."""

    UNKNOWN_QUERY_TYPE = "the store can't answer such a query"
    NOT_UP_TO_BOUND = "the store is behind the position that was asked for"
    NOT_PRESENT = "the partition isn't on this host, or is being restored"
    DOES_NOT_EXIST = "the store has no such partition"
    STORE_EXCEPTION = "the store raised an error"


@dataclass(frozen=True)
class StateQueryRequest:
    """`streams.query(StateQueryRequest("counts", KeyQuery("alice")))`

    Without `partitions`, all of them are asked. A partition that hasn't seen the records at
    `position_bound` doesn't answer: who has written a record, and knows its offset, sees its
    effects or hears that they aren't there yet.
    """

    store: str
    query: Query
    partitions: Collection[int] | None = None
    position_bound: Position = field(default_factory=dict)
    execution_info: bool = False


@dataclass(frozen=True)
class QueryResult:
    """The answer of one partition, or why there is none."""

    result: Any = None
    failure_reason: FailureReason | None = None
    failure_message: str | None = None
    position: Position = field(default_factory=dict)
    execution_info: tuple[str, ...] = ()

    @property
    def is_success(self) -> bool:
        return self.failure_reason is None

    def get(self) -> Any:
        """The result. Raises StoreNotAvailableError if there is none."""
        if self.failure_reason is not None:
            raise StoreNotAvailableError(f"{self.failure_reason.name}: {self.failure_message}")
        return self.result


@dataclass(frozen=True)
class StateQueryResult:
    """The answers by partition; a global store has one answer, `global_result`."""

    partition_results: Mapping[int, QueryResult] = field(default_factory=dict)
    global_result: QueryResult | None = None

    def only_partition_result(self) -> QueryResult | None:
        """The one answer that isn't None, as of a query for a key; None if there is none. Raises
        ArgumentError if there are several, and StoreNotAvailableError if one failed."""
        found = [result for result in self.partition_results.values() if result.get() is not None]
        if len(found) > 1:
            raise ArgumentError(
                f"{len(found)} partitions have an answer: use partition_results for such queries."
            )
        return found[0] if found else None

    @property
    def position(self) -> Position:
        """How far all partitions together have come."""
        results = [*self.partition_results.values()]
        if self.global_result is not None:
            results.append(self.global_result)
        merged: dict[TopicPartition, int] = {}
        for result in results:
            merged.update(result.position)
        return merged


def answer(state: LocalState, request: StateQueryRequest) -> StateQueryResult:
    """Ask the partitions of a store."""
    partitions = state.partitions(request.store)
    if GLOBAL in partitions:
        return StateQueryResult(global_result=_answer_of(partitions[GLOBAL], request))
    wanted = sorted(partitions) if request.partitions is None else request.partitions
    results: dict[int, QueryResult] = {}
    for number in wanted:
        partition = partitions.get(number)
        results[number] = (
            _failed(
                FailureReason.DOES_NOT_EXIST,
                f"Store {request.store} has {len(partitions)} partitions.",
            )
            if partition is None
            else _answer_of(partition, request)
        )
    return StateQueryResult(results)


def _answer_of(partition: StorePartition, request: StateQueryRequest) -> QueryResult:
    began = time.perf_counter()
    try:
        snapshot = partition.snapshot()
    except StoreNotAvailableError as error:
        return _failed(FailureReason.NOT_PRESENT, str(error))
    kept = False
    try:
        position = {part: at - 1 for part, at in snapshot.checkpoint.positions.items()}
        behind = _behind(position, request.position_bound, partition.number)
        if behind is not None:
            return _failed(FailureReason.NOT_UP_TO_BOUND, behind, position)
        store = partition.store(snapshot)
        if not request.query.accepts(store):
            return _failed(
                FailureReason.UNKNOWN_QUERY_TYPE,
                f"Store {partition.spec.name} is a {type(store).__name__}, and can't answer a "
                f"{type(request.query).__name__}.",
                position,
            )
        result = request.query.ask(store)
        if isinstance(result, Iterator):
            result, kept = _Items(snapshot, result), True
        info: tuple[str, ...] = ()
        if request.execution_info:
            spent = (time.perf_counter() - began) * 1e6
            info = (f"partition {partition.number} of {partition.spec.name} in {spent:.0f} µs",)
        return QueryResult(result, position=position, execution_info=info)
    except Exception as error:
        return _failed(FailureReason.STORE_EXCEPTION, f"{type(error).__name__}: {error}")
    finally:
        if not kept:
            snapshot.release()


class _Items(Iterator[Any]):
    """Items of one commit, which is let go of after the last one."""

    def __init__(self, snapshot: Snapshot, items: Iterator[Any]) -> None:
        self._snapshot: Snapshot | None = snapshot
        self._items = items

    def __next__(self) -> Any:
        try:
            return next(self._items)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._snapshot is not None:
            self._items = iter(())
            self._snapshot.release()
            self._snapshot = None

    def __del__(self) -> None:
        self.close()


def _behind(position: Position, bound: Position, number: int) -> str | None:
    """What a partition has not seen yet."""
    for part, offset in bound.items():
        if number in (part.partition, GLOBAL) and position.get(part, -1) < offset:
            return f"It has seen {part} up to {position.get(part, -1)}, not {offset}."
    return None


def _failed(reason: FailureReason, message: str, position: Position | None = None) -> QueryResult:
    return QueryResult(failure_reason=reason, failure_message=message, position=position or {})
