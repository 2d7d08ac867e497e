from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.hash_order import (
    TreeSet,
    copied_set_order,
    grown_set_order,
    hash_code,
    partition_hash_code,
)

names = st.lists(st.text(max_size=12), unique=True, max_size=60)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("KSTREAM-SOURCE-0000000000", 1861603632),
        ("é", 233),
        ("\U0001f600", 0xD83D * 31 + 0xDE00),
    ],
)
def test_hash_codes_are_those_of_java(text: str, code: int) -> None:
    assert hash_code(text) == code


def test_partitions_are_hashed_by_number_and_topic() -> None:
    assert partition_hash_code(("a", 2)) == 31 * (31 + 2) + 97
    partitions = [("in", 1), ("b", 0), ("a", 0)]
    assert grown_set_order(partitions, partition_hash_code) == [("a", 0), ("b", 0), ("in", 1)]


def test_a_copied_set_is_larger_than_a_grown_one_of_twelve() -> None:
    """`new HashSet<>(twelve names)` has 32 buckets, a set that they were added to has 16."""
    assert "".join(grown_set_order("pbcdefghijkl")) == "pbcdefghijkl"
    assert "".join(copied_set_order("pbcdefghijkl")) == "bcdefghijklp"


def test_long_buckets_make_a_small_table_grow() -> None:
    """Nine names in one of 16 buckets double the table, long before it is three quarters full."""
    nine = [chr(0x100 + 16 * index) for index in range(9)]
    assert grown_set_order(nine[:8]) == nine[:8]
    assert grown_set_order(nine) == nine[::2] + nine[1::2]


@given(names)
def test_orders_hold_every_name_once(given_names: list[str]) -> None:
    for order in (grown_set_order, copied_set_order):
        assert sorted(order(given_names)) == sorted(given_names)
        assert order(given_names + given_names) == order(given_names)


@given(st.lists(st.integers(0, 10**9), unique=True))
def test_a_tree_set_with_a_steady_order_is_sorted(numbers: list[int]) -> None:
    items = [(number,) for number in numbers]
    tree: TreeSet[tuple[int]] = TreeSet(lambda one, other: one < other)
    for item in items + items:
        tree.add(item)
    assert list(tree) == sorted(items)


def test_a_tree_set_keeps_what_it_was_told_when_the_order_changes() -> None:
    rank = {"a": 1, "b": 2, "c": 3}
    tree: TreeSet[str] = TreeSet(lambda one, other: rank[one] < rank[other])
    tree.add("a")
    tree.add("b")
    rank["a"] = 9
    tree.add("c")
    assert list(tree) == ["c", "a", "b"]
