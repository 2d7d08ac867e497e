"""Functions of arrays, maps and lambdas."""

from decimal import Decimal
from typing import Any

import pytest

from headrace.sql.types import STRING, ArrayType
from tests.sql.evaluation import failure_of, result_of, value_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ARRAY_LENGTH(ARRAY[1, 2])", 2),
        ("ARRAY_CONTAINS(ARRAY[1, NULL], CAST(NULL AS INT))", True),
        ("ARRAY_CONTAINS(ARRAY[1, 2], 3)", False),
        ("ARRAY_CONCAT(ARRAY[1], ARRAY[1, 2])", [1, 1, 2]),
        ("ARRAY_DISTINCT(ARRAY[2, 1, NULL, 2, NULL])", [2, 1, None]),
        ("ARRAY_DISTINCT(ARRAY[ARRAY[1], ARRAY[1]])", [[1]]),
        ("ARRAY_EXCEPT(ARRAY['a', 'b', 'a'], ARRAY['b'])", ["a"]),
        ("ARRAY_INTERSECT(ARRAY['a', 'b', 'a'], ARRAY['a'])", ["a"]),
        ("ARRAY_UNION(ARRAY['a', 'b'], ARRAY['c', 'a'])", ["a", "b", "c"]),
        ("ARRAY_REMOVE(ARRAY[1, NULL, 1, 2], 1)", [None, 2]),
        ("ARRAY_REMOVE(ARRAY[1, NULL], CAST(NULL AS INT))", [1]),
        ("ARRAY_JOIN(ARRAY[1.50, NULL])", "1.50,null"),
        ("ARRAY_JOIN(ARRAY[true, false], '; ')", "true; false"),
        ("ARRAY_JOIN(ARRAY['a', 'b'], CAST(NULL AS STRING))", "ab"),
        ("ARRAY_MAX(ARRAY[1, NULL, 3])", 3),
        ("ARRAY_MIN(ARRAY['b', 'B'])", "B"),
        ("ARRAY_SORT(ARRAY[2, NULL, 1])", [1, 2, None]),
        ("ARRAY_SORT(ARRAY[2, NULL, 1, 3], 'desc')", [3, 2, 1, None]),
        ("ARRAY_SORT(ARRAY[2, 1], 'sideways')", None),
        ("SLICE(ARRAY[1, 2, 3], 2, 3)", [2, 3]),
        ("SLICE(ARRAY[1, 2, 3], CAST(NULL AS INT), 2)", [1, 2]),
        ("SLICE(ARRAY[1, 2, 3], 2, 9)", None),
        ("SLICE(ARRAY[1, 2, 3], 0, 2)", None),
        ("GENERATE_SERIES(1, 3)", [1, 2, 3]),
        ("GENERATE_SERIES(3, 1)", [3, 2, 1]),
        ("GENERATE_SERIES(0, 5, 2)", [0, 2, 4]),
        ("AS_MAP(ARRAY['a', 'b'], ARRAY[1])", {"a": 1, "b": None}),
        ("AS_MAP(ARRAY['a'], ARRAY[1, 2])", {"a": 1}),
        ("MAP_KEYS(MAP('a' := 1, 'b' := 2))", ["a", "b"]),
        ("MAP_VALUES(MAP('a' := 1, 'b' := NULL))", [1, None]),
        ("MAP_UNION(MAP('a' := 1, 'b' := 2), MAP('a' := 3))", {"a": 3, "b": 2}),
        ("ENTRIES(MAP('b' := 1, 'a' := 2), true)", [{"K": "a", "V": 2}, {"K": "b", "V": 1}]),
        ("COALESCE(CAST(NULL AS INT), 2, 3)", 2),
        ("IFNULL(CAST(NULL AS STRING), 'x')", "x"),
        ("NULLIF('a', 'a')", None),
        ("NULLIF('a', 'b')", "a"),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ARRAY_CONTAINS(X, 1)", False),
        ("ARRAY_CONCAT(X, ARRAY[1])", [1]),
        ("ARRAY_CONCAT(X, X)", None),
        ("ARRAY_UNION(X, ARRAY[1])", None),
        ("ARRAY_JOIN(X)", None),
        ("REDUCE(X, 7, (s, x) => s + x)", 7),
        ("FILTER(X, x => x > 1)", None),
    ],
)
def test_arrays_that_are_null(text: str, expected: Any) -> None:
    assert value_of(text, X=("ARRAY<INT>", None)) == expected


def test_null_elements_join_nothing_that_has_parts() -> None:
    assert "ARRAY_JOIN can't join" in failure_of("ARRAY_JOIN(ARRAY[ARRAY[1]])")
    assert "cannot be zero" in failure_of("GENERATE_SERIES(1, 2, 0)")
    assert "wrong sign" in failure_of("GENERATE_SERIES(1, 2, -1)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FILTER(ARRAY[1, 2, 3], x => x > 1)", [2, 3]),
        ("FILTER(MAP('a' := 1, 'b' := 2), (k, v) => k = 'a' OR v > 5)", {"a": 1}),
        ("TRANSFORM(ARRAY[1, NULL], x => x * 2)", [2, None]),
        (
            "TRANSFORM(MAP('a' := 1.5), (k, v) => UCASE(k), (k, v) => v + 1)",
            {"A": Decimal("2.5")},
        ),
        ("REDUCE(ARRAY[1, 2, 3], 10, (s, x) => s - x)", 4),
        ("REDUCE(MAP('a' := 1, 'b' := 2), '', (s, k, v) => s || k)", "ab"),
        ("TRANSFORM(ARRAY[ARRAY[1, 2], ARRAY[3]], x => REDUCE(x, 0, (s, y) => s + y))", [3, 3]),
        ("TRANSFORM(ARRAY[1, 2], x => FILTER(ARRAY[1, 2], y => y <> x))", [[2], [1]]),
    ],
)
def test_lambdas(text: str, expected: Any) -> None:
    assert value_of(text) == expected


def test_lambdas_see_columns() -> None:
    assert value_of("TRANSFORM(A, x => x + N)", A=("ARRAY<INT>", [1, 2]), N=("INT", 10)) == [11, 12]


def test_types_of_lambdas() -> None:
    result = result_of("TRANSFORM(ARRAY[1, 2], x => CAST(x AS STRING))")
    assert result.type == ArrayType(STRING)
    assert result.value == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FILTER(A, x => B)", "the lambda gave NULL"),
        ("TRANSFORM(MAP('a' := 1, 'b' := 2), (k, v) => 'x', (k, v) => v)", "Duplicate key x"),
        ("TRANSFORM(MAP('a' := 1), (k, v) => k, (k, v) => CAST(NULL AS INT))", "is NULL"),
    ],
)
def test_failures(text: str, message: str) -> None:
    assert message in failure_of(text, A=("ARRAY<INT>", [1]), B=("BOOLEAN", None))
