"""Sketches of how many distinct values there are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.functions.distinct import added, estimate, merged


def sketch_of(values: range | list[int]) -> bytes:
    sketch = b""
    for value in values:
        sketch = added(sketch, value)
    return sketch


@pytest.mark.parametrize("count", [0, 1, 2, 10, 20])
def test_few_are_counted_exactly(count: int) -> None:
    assert estimate(sketch_of(range(count))) == count


@pytest.mark.parametrize("count", [100, 1_500, 20_000, 100_000])
def test_many_are_estimated(count: int) -> None:
    assert estimate(sketch_of(range(count))) == pytest.approx(count, rel=0.03)


@given(st.lists(st.integers(0, 50)))
def test_neither_order_nor_repeats_matter(values: list[int]) -> None:
    assert sketch_of(values) == sketch_of(sorted(set(values)))


@pytest.mark.parametrize(("one", "other"), [(10, 20), (10, 3_000), (3_000, 10), (2_000, 3_000)])
def test_merging_is_as_adding_all(one: int, other: int) -> None:
    both = sketch_of([*range(one), *range(one // 2, other)])
    assert merged(sketch_of(range(one)), sketch_of(range(one // 2, other))) == both
    assert merged(sketch_of(range(one // 2, other)), sketch_of(range(one))) == both


def test_values_of_any_type() -> None:
    sketch = b""
    for value in ("a", b"a", 1, 1.5, [1], {"a": 1}, {"a": None}):
        sketch = added(sketch, value)
    assert estimate(sketch) == 7
