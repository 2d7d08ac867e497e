"""The windowed operators over the runtime's own stores: they and the stores must agree on time,
and on what a scan gives while it is written to."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace import serdes
from headrace.core.config import StreamsConfig
from headrace.core.windowed import Windowed
from headrace.runtime.stores import InMemoryStorage, RecordCache, StoreEnvironment, build_store
from headrace.topology.operators import (
    Operator,
    StreamAggregate,
    StreamSessionWindowAggregate,
    StreamSlidingWindowAggregate,
    StreamWindowAggregate,
    TableSource,
)
from headrace.topology.stores import (
    Backend,
    KeyValueStoreSpec,
    SessionStoreSpec,
    StoreSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)
from headrace.topology.windows import SessionWindows, SlidingWindows, TimeWindows

from .harness import Bench
from .test_session import model as session_model
from .test_sliding import model as sliding_model

FOREVER = 10**9

Records = list[tuple[str, int]]
records = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60)), max_size=30)
backends = st.sampled_from([Backend.PERSISTENT, Backend.IN_MEMORY])


def append(key: str, value: int, values: list[int]) -> list[int]:
    return sorted([*values, value])


def merge(key: str, one: list[int], other: list[int]) -> list[int]:
    return sorted([*one, *other])


def run(operator: Operator, spec: StoreSpec, records: Records) -> tuple[Any, Bench]:
    """Feeds the records, each with its number as value, flushing now and then."""

    def with_store(bench: Bench) -> list[Any]:
        environment = StoreEnvironment(
            context=bench.context,
            resolve_serde=lambda serde, role: serdes.string() if role == "key" else serdes.json(),
            log=lambda *record: None,
            cache=RecordCache(StreamsConfig()["statestore.cache.max.bytes"], bench.context),
            storage=InMemoryStorage(),
        )
        return [build_store(spec, environment)]

    bench = Bench(operator, stores_of=with_store)
    store = bench.node.stores["store"]
    for number, (key, timestamp) in enumerate(records):
        bench.feed(key, number, timestamp)
        if number % 7 == 6:
            store.flush()
    store.flush()
    return store, bench


def table_of(bench: Bench) -> dict[Any, tuple[Any, int]]:
    """What a reader of the output knows at the end."""
    last = {out.key: (out.value.new, out.timestamp) for out in bench.out}
    return {key: row for key, row in last.items() if row[0] is not None}


def by_start(table: dict[Any, Any]) -> dict[tuple[str, int], Any]:
    return {(key.key, key.window.start): row for key, row in table.items()}


def window_spec(size: int, backend: Backend, cached: bool) -> StoreSpec:
    return WindowStoreSpec(
        name="store",
        retention_ms=FOREVER,
        window_ms=size,
        timestamped=True,
        backend=backend,
        caching=cached,
    )


@given(records, st.integers(1, 12), st.integers(1, 12), backends, st.booleans())
def test_time_windows(
    records: Records, size: int, advance: int, backend: Backend, cached: bool
) -> None:
    advance = min(advance, size)
    windows = TimeWindows(size, advance, FOREVER)
    operator = StreamWindowAggregate("store", windows, list, append)
    store, bench = run(operator, window_spec(size, backend, cached), records)
    expected: dict[tuple[str, int], tuple[list[int], int]] = {}
    for number, (key, timestamp) in enumerate(records):
        for start in range(0, timestamp + 1, advance):
            if start + size > timestamp:
                values, latest = expected.get((key, start), ([], 0))
                expected[key, start] = [*values, number], max(latest, timestamp)
    assert by_start(dict(store.all())) == expected
    assert by_start(table_of(bench)) == expected


@given(records, st.integers(1, 15), backends, st.booleans())
def test_sliding_windows(records: Records, difference: int, backend: Backend, cached: bool) -> None:
    windows = SlidingWindows(difference, FOREVER)
    operator = StreamSlidingWindowAggregate("store", windows, list, append)
    store, bench = run(operator, window_spec(difference, backend, cached), records)
    expected = {
        key: (list(row.value), row.timestamp)
        for key, row in sliding_model(records, difference).items()
    }
    assert by_start(dict(store.all())) == expected
    assert by_start(table_of(bench)) == expected


@given(records, st.integers(0, 8), backends, st.booleans())
def test_sessions(records: Records, gap: int, backend: Backend, cached: bool) -> None:
    windows = SessionWindows(gap, FOREVER)
    operator = StreamSessionWindowAggregate("store", windows, list, append, merge)
    spec = SessionStoreSpec(name="store", retention_ms=FOREVER, backend=backend, caching=cached)
    store, bench = run(operator, spec, records)
    expected = {key: list(numbers) for key, numbers in session_model(records, gap).items()}
    sessions: dict[Windowed[str], Any] = dict(store.fetch("a"))
    sessions.update(store.fetch("b"))
    assert sessions == expected
    assert table_of(bench) == {key: (row, key.window.end) for key, row in expected.items()}


@given(records, st.booleans())
def test_an_aggregation(records: Records, cached: bool) -> None:
    operator = StreamAggregate("store", list, append)
    spec = KeyValueStoreSpec(name="store", timestamped=True, caching=cached)
    store, bench = run(operator, spec, records)
    expected = {
        key: (
            [number for number, record in enumerate(records) if record[0] == key],
            max(timestamp for other, timestamp in records if other == key),
        )
        for key, _ in records
    }
    assert dict(store.all()) == expected
    assert table_of(bench) == expected


@given(records)
def test_a_versioned_table(records: Records) -> None:
    operator = TableSource("store", send_old_values=True)
    _, bench = run(operator, VersionedStoreSpec(name="store", history_ms=FOREVER), records)
    newest: dict[str, int] = {}
    for (key, timestamp), out in zip(records, bench.out, strict=True):
        assert out.value.is_latest == (timestamp >= newest.get(key, -1))
        newest[key] = max(timestamp, newest.get(key, -1))
