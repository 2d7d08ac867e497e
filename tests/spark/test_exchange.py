"""Keys that Spark's hash sends to the slot they are for."""

from __future__ import annotations

import pytest

from headrace.spark.exchange import _spark_hash, slot_keys


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 933211791), (1, -559580957), (2, 1765031574), (42, 29417773)]
)
def test_the_hash_is_sparks(value: int, expected: int) -> None:
    # SELECT hash(0), hash(1), hash(2), hash(42)
    assert _spark_hash(value) == expected


@pytest.mark.parametrize("slots", [1, 2, 3, 7, 16])
def test_every_slot_has_a_key(slots: int) -> None:
    assert [_spark_hash(key) % slots for key in slot_keys(slots)] == list(range(slots))
