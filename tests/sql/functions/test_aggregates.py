"""Aggregate functions: adding, taking back, merging."""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.functions import builtin_functions
from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.errors import FunctionError
from headrace.sql.syntax.parser import parse_type


def aggregate(
    name: str, *types: str, literals: Sequence[Any] = (), settings: dict[str, str] | None = None
) -> Aggregate:
    call = builtin_functions().aggregate(name, [parse_type(type) for type in types], settings)
    return call.make(tuple(literals))


def states(function: Aggregate, rows: Sequence[Any]) -> Any:
    state = function.initial()
    for row in rows:
        state = function.add(state, *(row if isinstance(row, tuple) else (row,)))
    return state


def result(function: Aggregate, state: Any) -> Any:
    return state if function.result is None else function.result(state)


def results(function: Aggregate, rows: Sequence[Any]) -> Any:
    return result(function, states(function, rows))


@pytest.mark.parametrize(
    ("name", "type", "rows", "expected"),
    [
        ("COUNT", "STRING", ["a", None, "b"], 2),
        ("SUM", "INT", [2**31 - 1, None, 1], -(2**31)),
        ("SUM", "BIGINT", [2**63 - 1, 1], -(2**63)),
        ("SUM", "DOUBLE", [1.5, None, 2.0], 3.5),
        ("SUM", "DECIMAL(4,2)", [Decimal("1.50"), None, Decimal("2.25")], Decimal("3.75")),
        ("SUM", "DECIMAL(4,2)", [], Decimal("0.00")),
        ("SUM_LIST", "ARRAY<INT>", [[1, None, 2], None, [3]], 6),
        ("AVG", "INT", [1, None, 2], 1.5),
        ("AVG", "DOUBLE", [], 0.0),
        ("MIN", "STRING", ["b", None, "a"], "a"),
        ("MAX", "BYTES", [b"\x7f", b"\xff"], b"\x7f"),
        ("MAX", "DATE", [None], None),
        ("STDDEV_SAMP", "BIGINT", [10, 12, 13, 14, 16], 5.0),
        ("STDDEV_SAMPLE", "DOUBLE", [10.0, 12.0, 13.0, 14.0, 16.0], math.sqrt(5)),
        ("STDDEV_SAMPLE", "DOUBLE", [10.0, None], 0.0),
        ("COLLECT_LIST", "INT", [1, None, 1], [1, None, 1]),
        ("COLLECT_SET", "INT", [1, None, 1, None, 2], [1, None, 2]),
        ("COLLECT_SET", "ARRAY<INT>", [[1], [2], [1]], [[1], [2]]),
        ("HISTOGRAM", "STRING", ["a", "b", None, "a"], {"a": 2, "b": 1}),
        ("ATTR", "STRING", ["a", "a"], "a"),
        ("ATTR", "STRING", ["a", None], None),
        ("ATTR", "STRING", [None], None),
        ("EARLIEST_BY_OFFSET", "INT", [None, 1, 2], 1),
        ("LATEST_BY_OFFSET", "INT", [1, 2, None], 2),
        ("LATEST_BY_OFFSET", "INT", [None], None),
        ("COUNT_DISTINCT", "STRING", ["a", "b", None, "a"], 2),
    ],
)
def test_results(name: str, type: str, rows: list[Any], expected: Any) -> None:
    function = aggregate(name, type)
    value = results(function, rows)
    assert value == expected
    assert str(value) == str(expected)


@pytest.mark.parametrize(
    ("name", "literals", "expected"),
    [
        ("EARLIEST_BY_OFFSET", (2,), [1, 2]),
        ("EARLIEST_BY_OFFSET", (2, False), [None, 1]),
        ("LATEST_BY_OFFSET", (2,), [2, 3]),
        ("LATEST_BY_OFFSET", (2, False), [3, None]),
        ("EARLIEST_BY_OFFSET", (False,), None),
        ("LATEST_BY_OFFSET", (False,), None),
        ("TOPK", (2,), [3, 2]),
        ("TOPKDISTINCT", (5,), [3, 2, 1]),
    ],
)
def test_results_with_literals(name: str, literals: tuple[Any, ...], expected: Any) -> None:
    types = ["BOOLEAN" if isinstance(literal, bool) else "INT" for literal in literals]
    function = aggregate(name, "INT", *types, literals=literals)
    assert results(function, [None, 1, 2, 3, None]) == expected


def test_top_rows() -> None:
    function = aggregate("TOPK", "INT", "STRING", "BOOLEAN", "INT", literals=(2,))
    names = "STRUCT<`sort_col` INTEGER, `col0` STRING, `col1` BOOLEAN>"
    assert str(function.type) == f"ARRAY<{names}>"
    rows = [(1, "a", True), (3, "b", None), (None, "c", True), (3, "d", True), (3, "e", True)]
    assert results(function, rows) == [
        {"sort_col": 3, "col0": "b", "col1": None},
        {"sort_col": 3, "col0": "d", "col1": True},
    ]


def test_correlation() -> None:
    function = aggregate("CORRELATION", "INT", "INT")
    assert math.isnan(results(function, [(1, 2)]))
    assert results(function, [(1, 2), (2, None), (2, 4), (3, 6)]) == pytest.approx(1.0)
    assert results(function, [(1, 8), (-1, -2), (-4, -1)]) == 0.7455284088780169


def test_limits() -> None:
    settings = {"ksql.functions.collect_list.limit": "2", "ksql.functions.collect_set.limit": "1"}
    assert results(aggregate("COLLECT_LIST", "INT", settings=settings), [1, 2, 3]) == [1, 2]
    assert results(aggregate("COLLECT_SET", "INT", settings=settings), [1, 2]) == [1]
    many = [str(number) for number in range(1100)]
    assert len(results(aggregate("HISTOGRAM", "STRING"), [*many, "0"])) == 1000


@pytest.mark.parametrize("name", ["EARLIEST_BY_OFFSET", "LATEST_BY_OFFSET", "TOPK", "TOPKDISTINCT"])
def test_amounts_must_be_positive(name: str) -> None:
    with pytest.raises(FunctionError, match="must be greater than zero"):
        aggregate(name, "INT", "INT", literals=(0,))


def test_sums_of_decimals_that_are_too_large_are_an_error() -> None:
    function = aggregate("SUM", "DECIMAL(2,1)")
    with pytest.raises(ArithmeticError, match="Numeric field overflow"):
        results(function, [Decimal("9.9"), Decimal("9.9")])


_UNDOABLE = [
    ("ATTR", "INT"),
    ("AVG", "INT"),
    ("COLLECT_LIST", "INT"),
    ("COUNT", "INT"),
    ("HISTOGRAM", "STRING"),
    ("STDDEV_SAMPLE", "BIGINT"),
    ("SUM", "INT"),
    ("SUM", "DECIMAL(9,0)"),
    ("SUM_LIST", "ARRAY<BIGINT>"),
]


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float):
        return math.isclose(one, other, abs_tol=1e-9)
    return bool(one == other)


def sample(type: str, number: int | None) -> Any:
    if number is None:
        return None
    if type == "STRING":
        return str(number)
    if type.startswith("DECIMAL"):
        return Decimal(number)
    return [number, number] if type.startswith("ARRAY") else number


@given(
    st.sampled_from(_UNDOABLE),
    st.lists(st.none() | st.integers(-5, 5), max_size=6),
    st.none() | st.integers(-5, 5),
)
def test_undo_takes_back_what_add_did(
    function: tuple[str, str], numbers: list[int | None], last: int | None
) -> None:
    name, type = function
    subject = aggregate(name, type)
    assert subject.undo is not None
    before = states(subject, [sample(type, number) for number in numbers])
    after = subject.add(before, sample(type, last))
    undone = result(subject, subject.undo(after, sample(type, last)))
    assert is_same(undone, result(subject, before))


def test_the_others_have_no_undo() -> None:
    names = ("COUNT_DISTINCT", "COLLECT_SET", "MIN", "MAX", "EARLIEST_BY_OFFSET")
    assert [aggregate(name, "INT").undo for name in names] == [None] * 5


_MERGEABLE = [
    *_UNDOABLE,
    ("MIN", "INT"),
    ("MAX", "STRING"),
    ("COLLECT_SET", "INT"),
    ("COUNT_DISTINCT", "INT"),
    ("EARLIEST_BY_OFFSET", "INT"),
    ("LATEST_BY_OFFSET", "INT"),
]


@given(
    st.sampled_from(_MERGEABLE),
    st.lists(st.none() | st.integers(-5, 5), max_size=6),
    st.lists(st.none() | st.integers(-5, 5), max_size=6),
)
def test_merging_is_as_adding_all(
    function: tuple[str, str], numbers: list[int | None], more: list[int | None]
) -> None:
    name, type = function
    subject = aggregate(name, type)
    assert subject.merge is not None
    one = states(subject, [sample(type, number) for number in numbers])
    other = states(subject, [sample(type, number) for number in more])
    both = states(subject, [sample(type, number) for number in [*numbers, *more]])
    merged = result(subject, subject.merge(one, other))
    assert is_same(merged, result(subject, both))


def test_states_are_not_changed() -> None:
    for name, type in _MERGEABLE:
        subject = aggregate(name, type)
        before = states(subject, [sample(type, 1), sample(type, 2)])
        kept = repr(before)
        subject.add(before, sample(type, 3))
        if subject.undo is not None:
            subject.undo(before, sample(type, 2))
        assert subject.merge is not None
        subject.merge(before, before)
        assert repr(before) == kept


def test_distinct_counts_are_about_right() -> None:
    function = aggregate("COUNT_DISTINCT", "BIGINT")
    state = function.initial()
    for number in range(3_000):
        state = function.add(state, number % 2_000)
    assert result(function, state) == pytest.approx(2_000, rel=0.03)
    assert len(state) == 1 << 14
