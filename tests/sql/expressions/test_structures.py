"""Arrays, maps and structs, and a common type for what is in them."""

from decimal import Decimal
from typing import Any

import pytest

from headrace.sql.expressions import TypingError
from tests.sql.evaluation import failure_of, result_of


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        ("ARRAY[1, 2]", "ARRAY<INTEGER>", [1, 2]),
        ("ARRAY[1, NULL, 2147483648]", "ARRAY<BIGINT>", [1, None, 2147483648]),
        ("ARRAY[1, 2.50]", "ARRAY<DECIMAL(12, 2)>", [Decimal("1.00"), Decimal("2.50")]),
        ("ARRAY[1.5, 2e0]", "ARRAY<DOUBLE>", [1.5, 2.0]),
        ("ARRAY['1', 2]", "ARRAY<INTEGER>", [1, 2]),
        ("ARRAY[1, '2.5']", "ARRAY<DECIMAL(11, 1)>", [Decimal("1.0"), Decimal("2.5")]),
        ("ARRAY['a', 'b']", "ARRAY<STRING>", ["a", "b"]),
        ("ARRAY[X, 5]", "ARRAY<STRING>", ["x", "5"]),
        ("ARRAY[ARRAY[1], ARRAY['2', NULL]]", "ARRAY<ARRAY<INTEGER>>", [[1], [2, None]]),
        ("MAP('a' := 1, 'b' := 2.5)", "MAP<STRING, DECIMAL(11, 1)>",
         {"a": Decimal("1.0"), "b": Decimal("2.5")}),
        ("MAP(1 := NULL, 2 := 'b')", "MAP<INTEGER, STRING>", {1: None, 2: "b"}),
        ("STRUCT(a := 1, `b c` := 'x')", "STRUCT<`A` INTEGER, `b c` STRING>",
         {"A": 1, "b c": "x"}),
        ("ARRAY[STRUCT(a := 1), STRUCT(b := 2)]", "ARRAY<STRUCT<`A` INTEGER, `B` INTEGER>>",
         [{"A": 1, "B": None}, {"A": None, "B": 2}]),
        ("ARRAY[10, 20][1]", "INTEGER", 10),
        ("ARRAY[10, 20][-1]", "INTEGER", 20),
        ("ARRAY[10, 20][0]", "INTEGER", None),
        ("ARRAY[10, 20][3]", "INTEGER", None),
        ("ARRAY[10, 20][-3]", "INTEGER", None),
        ("MAP('a' := 1)['a']", "INTEGER", 1),
        ("MAP('a' := 1)['b']", "INTEGER", None),
        ("STRUCT(a := STRUCT(b := 5))->a->b", "INTEGER", 5),
        ("S->F", "INTEGER", None),
    ],
)  # fmt: skip
def test_values_and_types(text: str, type: str, value: Any) -> None:
    result = result_of(text, {"X": ("STRING", "x"), "S": ("STRUCT<F INT>", None)})
    assert (str(result.type), result.value, result.failures) == (type, value, [])


def test_a_part_that_fails_is_null_alone() -> None:
    row = {"X": ("STRING", "x")}
    result = result_of("ARRAY[CAST(X AS INT), 1]", row)
    assert result.value == [None, 1]
    assert len(result.failures) == 1
    assert result_of("STRUCT(a := CAST(X AS INT), b := 2)", row).value == {"A": None, "B": 2}
    assert result_of("MAP('a' := CAST(X AS INT))", row).value == {"a": None}


def test_the_innermost_part_that_fails_is_null() -> None:
    result = result_of("IFNULL(CAST(X AS INT), -1)", {"X": ("STRING", "x")})
    assert result.value == -1
    assert result.failures == [
        'Error computing expression CAST(X AS INTEGER): For input string: "x"'
    ]


def test_what_fails_without_a_function_is_null_as_a_whole() -> None:
    assert "((1 / X) + 1)" in failure_of("1 / X + 1", X=("INT", 0))
    # … up to the function that it is an argument of
    assert result_of("COALESCE(1 / X, 5)", {"X": ("INT", 0)}).value is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ARRAY[]", "Array constructor cannot be empty."),
        ("ARRAY[NULL]", "Cannot construct an array with all NULL elements"),
        ("MAP()", "Map constructor cannot be empty. Please supply at least one key value pair"),
        ("MAP(NULL := 1)", "Cannot construct a map with all NULL keys"),
        ("MAP('a' := NULL)", "Cannot construct a map with all NULL values"),
        ("STRUCT(a := 1, a := 2)", "Duplicate field names found in STRUCT"),
        ("STRUCT(a := NULL)", "Can't infer a type of null"),
        ("S->G", "Could not find field 'G' in 'S'"),
        ("X->G", "Expected STRUCT type, got: STRING"),
        ("X[1]", "Subscript expression only apply to ARRAY and MAP, got: STRING"),
        ("ARRAY[1]['a']", "Array index must be an INTEGER or BIGINT, got: STRING"),
    ],
)
def test_what_makes_no_sense(text: str, message: str) -> None:
    with pytest.raises(TypingError) as error:
        result_of(text, {"X": ("STRING", "x"), "S": ("STRUCT<F INT>", None)})
    assert message in str(error.value)
