"""Comparisons, LIKE, BETWEEN, IN and conditions."""

from decimal import Decimal
from typing import Any

import pytest

from headrace.sql.expressions import GenerationError, TypingError
from tests.sql.evaluation import result_of, value_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 < 2", True),
        ("2 <= 1", False),
        ("1 = 1.0", True),
        ("1 <> 2e0", True),
        ("1.10 = 1.1", True),
        ("'a' < 'B'", False),
        ("true = false", False),
        ("ARRAY[1, 2] = ARRAY[1, 2]", True),
        ("MAP('a' := 1) <> MAP('a' := 2)", True),
        ("STRUCT(a := 1) = STRUCT(a := 1)", True),
        ("CAST('2020-02-29' AS DATE) = '2020-02-29'", True),
        ("'10:20' < CAST('10:21' AS TIME)", True),
        ("CAST('2020-02-29' AS DATE) < CAST('2020-02-29T01' AS TIMESTAMP)", True),
        ("TO_BYTES('7f', 'hex') > TO_BYTES('80', 'hex')", True),
        ("5 BETWEEN 1 AND 5", True),
        ("'b' NOT BETWEEN 'a' AND 'c'", False),
        ("'abc' LIKE 'a%'", True),
        ("'abc' LIKE 'a_c'", True),
        ("'a.c' LIKE 'abc'", False),
        ("'ABC' LIKE 'abc'", False),
        ("'a%c' LIKE 'a!%c' ESCAPE '!'", True),
        ("'abc' LIKE 'a!%c' ESCAPE '!'", False),
        ("'a\nb' LIKE 'a%b'", True),
        ("1 IN (2, '1')", True),
        ("1 IN (2, 1.5)", False),
        ("1 IN (2, '1.0')", True),
        ("'a' IN ('b', NULL)", False),
        ("true IN ('yes')", True),
        ("ARRAY[1] IN (ARRAY['1'], ARRAY[2])", True),
        ("1 NOT IN (2, 3)", True),
        ("NULL IS NULL", True),
        ("1 IS NOT NULL", True),
        ("NOT (1 = 2)", True),
        ("1 = 1 AND 2 = 2 AND 3 = 4", False),
        ("1 = 2 OR 2 = 2", True),
        ("CASE WHEN 1 = 2 THEN 'a' WHEN 1 = 1 THEN 'b' END", "b"),
        ("CASE WHEN 1 = 2 THEN 'a' END", None),
        ("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' ELSE 'c' END", "b"),
        ("CASE WHEN 1 = 2 THEN NULL ELSE 5 END", 5),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X = 1", False),
        ("X <> 1", False),
        ("X < 1", False),
        ("X = X", False),
        ("NOT (X = 1)", True),
        ("X IS DISTINCT FROM 1", True),
        ("X IS DISTINCT FROM X", False),
        ("X IS NOT DISTINCT FROM X", True),
        ("X BETWEEN 1 AND 2", False),
        ("X IN (1, X)", False),
        ("S LIKE 'a%'", False),
        ("'a' LIKE S", False),
        ("B AND true", None),
        ("true AND B", None),
        ("false AND B", False),
        ("B AND false", None),
        ("true OR B", True),
        ("B OR true", None),
        ("NOT B", None),
    ],
)
def test_null(text: str, expected: bool | None) -> None:
    row = {"X": ("INT", None), "S": ("STRING", None), "B": ("BOOLEAN", None)}
    assert value_of(text, **row) is expected


def test_a_condition_that_is_null_is_no_condition() -> None:
    result = result_of("CASE WHEN B THEN 1 ELSE 2 END", {"B": ("BOOLEAN", None)})
    assert result.value is None
    assert "a condition is NULL" in result.failures[0]


def test_doubles_compare_as_they_are_written() -> None:
    row = {"D": ("DOUBLE", 1.1), "E": ("DECIMAL(2,1)", Decimal("1.1"))}
    assert value_of("D = 1.1", **row)
    assert value_of("D <= 1.1", **row)
    assert value_of("E = D", **row)
    assert not value_of("D < 1.10000000000000000001 AND D > 1.1", **row)
    assert value_of("D < 1.10000000000000000001", **row)


def test_text_is_an_instant_beside_rowtime() -> None:
    row = {"ROWTIME": ("BIGINT", 1_582_971_630_400)}
    assert value_of("ROWTIME >= '2020-02-29T10:20'", **row)
    assert value_of("ROWTIME BETWEEN '2020-02-29' AND '2020-03'", **row)
    assert not value_of("'2020-02-29T10:20:30.400+0100' > ROWTIME", **row)


def test_case_computes_only_what_is_needed() -> None:
    result = result_of("CASE WHEN X > 0 THEN 10 / X ELSE 0 END", {"X": ("INT", 0)})
    assert (result.value, result.failures) == (0, [])


def test_long_cases_and_conditions() -> None:
    whens = " ".join(f"WHEN X = {number} THEN 'n{number}'" for number in range(300))
    assert value_of(f"CASE {whens} ELSE 'none' END", X=("INT", 299)) == "n299"
    assert value_of(f"CASE {whens} ELSE 'none' END", X=("INT", 300)) == "none"
    conditions = " OR ".join(f"X = {number}" for number in range(90))
    assert value_of(conditions, X=("INT", 89)) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X >= 'a'", "Cannot compare X (INTEGER) to 'a' (STRING) with GREATER_THAN_OR_EQUAL."),
        ("ARRAY[1] < ARRAY[2]", "Cannot compare ARRAY[1] (ARRAY<INTEGER>) to ARRAY[2]"),
        ("true < false", "Cannot compare true (BOOLEAN) to false (BOOLEAN) with LESS_THAN."),
        ("NULL <> NULL", "Comparison with NULL not supported: NULL <> NULL"),
        ("X = NULL", "Comparison with NULL not supported: INTEGER = NULL"),
        ("X LIKE 'a'", "Like condition must be between strings: X is INTEGER"),
        ("X AND true", "X is INTEGER, but a condition is needed"),
        ("CASE WHEN 1 THEN 2 END", "WHEN operand type should be boolean."),
        (
            "CASE WHEN true THEN 1 WHEN false THEN 'a' END",
            "Type for all 'THEN' clauses should be the same.",
        ),
        (
            "CASE WHEN true THEN 1 ELSE 'a' END",
            "Type for the default clause should be the same as for 'THEN' clauses.\n"
            "THEN type: INTEGER.\nDEFAULT type: STRING.",
        ),
        ("CASE WHEN true THEN NULL END", "All case branches have NULL type"),
        ("CAST('x' AS DATE) = 'y'", "Failed to parse date 'y'"),
        ("Y = 1", "Unknown column Y."),
    ],
)
def test_what_can_not_be_compared(text: str, message: str) -> None:
    with pytest.raises(TypingError) as error:
        result_of(text, {"X": ("INT", 1)})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "X IN (true)",
            "operator does not exist: INTEGER = BOOLEAN (true)\n"
            "Hint: You might need to add explicit type casts.",
        ),
        ("X IN ('ten')", 'invalid input syntax for type INTEGER: "ten".'),
        ("X IN (S)", "operator does not exist: INTEGER = STRING (S)"),
        ("ARRAY[X] IN (X)", "operator does not exist: ARRAY<INTEGER> = INTEGER (X)"),
        ("true IN ('maybe')", 'invalid input syntax for type BOOLEAN: "maybe".'),
    ],
)
def test_lists_without_a_common_type(text: str, message: str) -> None:
    with pytest.raises(GenerationError) as error:
        result_of(text, {"X": ("INT", 1), "S": ("STRING", "")})
    assert str(error.value) == message or str(error.value).startswith(f"{message}\n")
