from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime.stores import InMemoryOrderedMap, InMemoryStorage
from headrace.runtime.stores.lru import LruMap
from headrace.runtime.stores.ordered_map import OrderedMap
from headrace.topology.stores import Backend, KeyValueStoreSpec
from tests.stores.environment import TEXT, Task

short = st.binary(max_size=2)


@given(st.lists(st.tuples(short, st.none() | short, st.booleans())), short, short)
def test_maps_are_ordered_dicts(
    steps: list[tuple[bytes, bytes | None, bool]], low: bytes, high: bytes
) -> None:
    maps: list[OrderedMap] = [
        InMemoryOrderedMap(),
        LruMap("lru", 1000, InMemoryStorage(), lambda key: None),
    ]
    for entries in maps:
        model: dict[bytes, bytes] = {}
        for key, value, scan in steps:
            if value is None:
                entries.delete(key)
                model.pop(key, None)
            else:
                entries.put(key, value)
                model[key] = value
            assert entries.get(key) == value
            if scan:
                assert list(entries.range(None, None)) == sorted(model.items())
        within = sorted(item for item in model.items() if low <= item[0] <= high)
        assert list(entries.range(low, high)) == within
        assert list(entries.reverse_range(low, high)) == within[::-1]
        assert list(entries.range(low, high, limit=1)) == within[:1]
        below = [item for item in within if item[0] != high]
        assert list(entries.range(low, high, high_inclusive=False)) == below
        assert len(entries) == len(model)


def test_the_settings_choose_where_a_dsl_store_is_kept() -> None:
    task = Task(dsl_store_suppliers_class="in_memory")
    store = task.build(KeyValueStoreSpec(name="s", key_serde=TEXT, value_serde=TEXT, backend=None))
    assert store.spec.backend is Backend.IN_MEMORY
