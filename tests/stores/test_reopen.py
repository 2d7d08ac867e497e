"""A store that is made anew from its storage goes on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.record import Change, ValueAndTimestamp
from headrace.core.windowed import Window, Windowed
from headrace.runtime.context import RecordContext
from headrace.runtime.stores import InMemoryStorage
from headrace.serde.outer_join import OuterJoinKey, OuterJoinValue
from headrace.topology.stores import (
    Backend,
    JoinBufferSpec,
    KeyValueStoreSpec,
    OuterJoinStoreSpec,
    SessionStoreSpec,
    StoreSpec,
    SubscriptionStoreSpec,
    SuppressBufferSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)
from tests.stores.environment import TEXT, Task

MINUTE = 60_000
SERDES: dict[str, Any] = {"name": "s", "key_serde": TEXT, "value_serde": TEXT}

Step = tuple[str, str | None, int, bool]
"""A key, a value, a time, and whether the store is made anew afterwards."""

Act = Callable[[Any, str, "str | None", int], Any]
"""`act(store, key, value, time)` changes or reads a store; what it gives must be the same."""


class Saved(InMemoryStorage):
    """Has the facts that were saved last."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: dict[str, int] = {}

    def facts(self, store: str) -> Mapping[str, int]:
        assert store == "s"
        return self.saved


def key_value(store: Any, key: str, value: str | None, time: int) -> Any:
    if time % 3 == 0:
        return store.get(key), store.approximate_num_entries()
    store.put(key, value)
    return list(store.all())


def timestamped(store: Any, key: str, value: str | None, time: int) -> Any:
    store.put(key, None if value is None else ValueAndTimestamp(value, time))
    return list(store.all())


def versioned(store: Any, key: str, value: str | None, time: int) -> Any:
    return store.put(key, value, time), store.get(key), store.get_as_of(key, time - MINUTE)


def window(store: Any, key: str, value: str | None, time: int) -> Any:
    store.put(key, value, time)
    return list(store.all()), list(store.fetch(key, 0, time)), store.observed_time


def session(store: Any, key: str, value: str | None, time: int) -> Any:
    store.put(Windowed(key, Window(time - time % 7, time)), value)
    return list(store.fetch_range(None, None)), list(store.find_sessions(key, 0, time))


def outer_join(store: Any, key: str, value: str | None, time: int) -> Any:
    side = time % 2 == 0
    store.put(OuterJoinKey(time, side, key), value and OuterJoinValue(side, value))
    return list(store.all())


def suppress(buffer: Any, key: str, value: str | None, time: int) -> Any:
    topic = "in" if buffer.spec.logging else None
    buffer.put(time, key, Change(value, "old"), RecordContext(time, (), topic, 0, 0, None, None))
    evicted: list[Any] = []
    buffer.evict_while(lambda: buffer.num_records > 2, evicted.append)
    return evicted, buffer.min_timestamp, buffer.buffer_size, buffer.prior_value(key)


def join(buffer: Any, key: str, value: str | None, time: int) -> Any:
    registers = RecordContext(time, (), "in", 0, 0, None, None)
    taken = buffer.put(time, key, value or "none", registers)
    evicted: list[Any] = []
    buffer.evict_while(lambda: True, evicted.append)
    return taken, evicted, buffer.num_records, buffer.buffer_size, buffer.min_timestamp


WINDOWS: dict[str, Any] = {**SERDES, "retention_ms": 2 * MINUTE, "window_ms": 10}
STORES: list[tuple[StoreSpec, Act]] = [
    (KeyValueStoreSpec(**SERDES), key_value),
    (KeyValueStoreSpec(**SERDES, backend=Backend.IN_MEMORY, caching=True), key_value),
    (KeyValueStoreSpec(**SERDES, backend=Backend.LRU, max_entries=2), key_value),
    (KeyValueStoreSpec(**SERDES, timestamped=True), timestamped),
    (SubscriptionStoreSpec(**SERDES), timestamped),
    (VersionedStoreSpec(**SERDES, history_ms=3 * MINUTE), versioned),
    (WindowStoreSpec(**WINDOWS), window),
    (WindowStoreSpec(**WINDOWS, retain_duplicates=True), window),
    (WindowStoreSpec(**WINDOWS, backend=Backend.IN_MEMORY, retain_duplicates=True), window),
    (WindowStoreSpec(**WINDOWS, time_ordered=True), window),
    (SessionStoreSpec(**SERDES, retention_ms=2 * MINUTE), session),
    (SessionStoreSpec(**SERDES, retention_ms=2 * MINUTE, backend=Backend.IN_MEMORY), session),
    (OuterJoinStoreSpec(**SERDES, right_value_serde=TEXT), outer_join),
    (SuppressBufferSpec(**SERDES), suppress),
    (SuppressBufferSpec(**SERDES, logging=False), suppress),
    (JoinBufferSpec(**SERDES, grace_ms=MINUTE), join),
]

steps = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "bb", "c"]),
        st.none() | st.sampled_from(["x", "y"]),
        st.integers(0, 10 * MINUTE),
        st.booleans(),
    ),
    max_size=30,
)


@pytest.mark.parametrize(("spec", "act"), STORES)
@given(steps=steps)
def test_a_reopened_store_goes_on(spec: StoreSpec, act: Act, steps: list[Step]) -> None:
    undisturbed, disturbed, storage = Task(), Task(), Saved()
    disturbed = Task(storage=storage)
    store, reopened = undisturbed.build(spec), disturbed.build(spec)
    for key, value, time, anew in steps:
        for task in (undisturbed, disturbed):
            task.at(time)
        assert act(reopened, key, value, time) == act(store, key, value, time)
        if anew:
            store.flush()
            reopened.flush()
            assert disturbed.take_changelog() == undisturbed.take_changelog()
            storage.saved = reopened.facts()
            disturbed = Task(storage=storage)
            reopened = disturbed.build(spec)
    assert reopened.facts() == store.facts()


def test_expired_segments_are_dropped_from_the_storage() -> None:
    storage = Saved()
    spec = WindowStoreSpec(**WINDOWS, backend=Backend.IN_MEMORY)
    store = Task(storage=storage).build(spec)
    for minute in range(10):
        store.put("a", "x", minute * MINUTE)
    assert storage.names("s/") == [
        f"s/{minute * MINUTE}{part}" for minute in (7, 8, 9) for part in ("/by-time", "")
    ]
    storage.saved = store.facts()
    reopened = Task(storage=storage).build(spec)
    reopened.put("a", "x", 20 * MINUTE)
    assert storage.names("s/") == [f"s/{20 * MINUTE}/by-time", f"s/{20 * MINUTE}"]
