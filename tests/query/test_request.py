"""Queries that each partition of a store answers for itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace import (
    ArgumentError,
    StoreNotAvailableError,
    TopicPartition,
    ValueAndTimestamp,
    VersionedRecord,
)
from headrace.query import (
    FailureReason,
    KeyQuery,
    MultiVersionedKeyQuery,
    QueryResult,
    RangeQuery,
    StateQueryRequest,
    StateQueryResult,
    TimestampedKeyQuery,
    TimestampedRangeQuery,
    VersionedKeyQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)
from headrace.query.queries import Query
from headrace.query.request import answer
from headrace.serde.murmur2 import partition_for
from tests.query.application import PARTITIONS, Application
from tests.query.test_stores import ORDERS, counts, versions, windowed_counts

Ask = Callable[..., StateQueryResult]
ALICE = partition_for(b"alice", PARTITIONS)


@pytest.fixture
def counted(tmp_path: Path) -> Application:
    application = Application(counts(), tmp_path)
    application.process(ORDERS)
    return application


def _ask(application: Application, store: str, query: Query, **options: object) -> StateQueryResult:
    return answer(application.state, StateQueryRequest(store, query, **options))  # type: ignore[arg-type]


def test_a_key_is_answered_by_its_partition(counted: Application) -> None:
    result = _ask(counted, "counts", KeyQuery("alice"))
    assert {n: r.get() for n, r in result.partition_results.items()} == {ALICE: 2, 1 - ALICE: None}
    only = result.only_partition_result()
    assert only is not None
    assert (only.result, only.is_success) == (2, True)
    assert _ask(counted, "counts", KeyQuery("nobody")).only_partition_result() is None


def test_timestamps_are_given_if_asked_for(counted: Application) -> None:
    only = _ask(counted, "counts", TimestampedKeyQuery("alice")).only_partition_result()
    assert only is not None
    assert only.result == ValueAndTimestamp(2, 30)
    ranges = _ask(counted, "counts", TimestampedRangeQuery()).partition_results.values()
    assert {key: row for result in ranges for key, row in result.get()} == {
        "alice": ValueAndTimestamp(2, 30),
        "bob": ValueAndTimestamp(1, 20),
        "carol": ValueAndTimestamp(1, 70_000),
    }


def test_ranges_go_both_ways(counted: Application) -> None:
    for number in range(PARTITIONS):
        up, down = (
            list(
                _ask(counted, "counts", RangeQuery(descending=way), partitions=[number])
                .partition_results[number]
                .get()
            )
            for way in (False, True)
        )
        assert up == down[::-1]


def test_windows_sessions_and_versions(tmp_path: Path) -> None:
    application = Application(windowed_counts(), tmp_path / "windows")
    application.process(ORDERS)

    def rows(store: str, query: Query) -> list[object]:
        results = _ask(application, store, query).partition_results
        return [row for number in sorted(results) for row in results[number].get()]

    assert rows("windows", WindowKeyQuery("alice", 0, 0)) == [(0, ValueAndTimestamp(2, 30))]
    assert len(rows("windows", WindowRangeQuery(first=0, last=100_000))) == 3
    assert len(rows("sessions", WindowRangeQuery("alice"))) == 1
    application = Application(versions(), tmp_path / "versions")
    application.process(ORDERS)
    for query, value in (
        (VersionedKeyQuery("alice"), b"c"),
        (VersionedKeyQuery("alice", as_of=20), b"a"),
    ):
        only = _ask(application, "versions", query).only_partition_result()
        assert only is not None
        assert only.result.value == value


def test_versions_of_a_time(tmp_path: Path) -> None:
    application = Application(versions(), tmp_path)
    application.process(ORDERS)

    def found(**options: Any) -> list[VersionedRecord]:
        query = MultiVersionedKeyQuery("alice", **options)
        results = _ask(application, "versions", query).partition_results
        return [*results[ALICE].get()]

    first, second = VersionedRecord(b"a", 10, 30), VersionedRecord(b"c", 30)
    assert found() == [second, first]
    assert found(ascending=True) == [first, second]
    assert found(first=29, last=29) == [first]
    assert found(first=30) == [second]
    assert found(last=9) == []


def test_position_says_what_a_partition_has_seen(counted: Application) -> None:
    result = _ask(counted, "counts", KeyQuery("alice"))
    seen = {part.partition: offset for part, offset in result.position.items()}
    assert sum(offset + 1 for offset in seen.values()) == len(ORDERS)


def test_a_partition_that_is_behind_does_not_answer(counted: Application) -> None:
    position = _ask(counted, "counts", KeyQuery("alice")).position
    assert _ask(counted, "counts", KeyQuery("alice"), position_bound=position).position == position
    part = TopicPartition("in", ALICE)
    later = {part: position[part] + 1}
    results = _ask(counted, "counts", KeyQuery("alice"), position_bound=later).partition_results
    assert results[ALICE].failure_reason is FailureReason.NOT_UP_TO_BOUND
    assert results[1 - ALICE].is_success
    counted.process([("alice", b"x", 90_000)])
    results = _ask(counted, "counts", KeyQuery("alice"), position_bound=later).partition_results
    assert results[ALICE].get() == 3


def test_failures_say_why(counted: Application, tmp_path: Path) -> None:
    results = _ask(counted, "counts", WindowKeyQuery("alice", 0, 1)).partition_results
    assert {r.failure_reason for r in results.values()} == {FailureReason.UNKNOWN_QUERY_TYPE}
    missing = _ask(counted, "counts", KeyQuery("alice"), partitions=[5]).partition_results[5]
    assert missing.failure_reason is FailureReason.DOES_NOT_EXIST
    wrong = _ask(counted, "counts", KeyQuery(None), partitions=[0]).partition_results[0]
    assert wrong.failure_reason is FailureReason.STORE_EXCEPTION
    fresh = Application(counts(), tmp_path / "fresh")
    result = _ask(fresh, "counts", KeyQuery("alice"))
    assert result.partition_results[0].failure_reason is FailureReason.NOT_PRESENT
    with pytest.raises(StoreNotAvailableError, match="NOT_PRESENT"):
        result.only_partition_result()


def test_only_one_partition_may_have_the_only_result() -> None:
    both = StateQueryResult({0: QueryResult(1), 1: QueryResult(2)})
    with pytest.raises(ArgumentError, match="2 partitions"):
        both.only_partition_result()


def test_execution_info_is_given_if_asked_for(counted: Application) -> None:
    asked = _ask(counted, "counts", KeyQuery("alice"), execution_info=True)
    assert "µs" in asked.partition_results[0].execution_info[0]


def test_an_iterator_that_is_closed_ends(counted: Application) -> None:
    result = _ask(counted, "counts", RangeQuery(), partitions=[ALICE]).partition_results[ALICE]
    rows = result.get()
    next(rows)
    rows.close()
    assert list(rows) == []
