"""Arithmetic: types of results, Java's overflow, exact decimals."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.expressions import TypingError
from tests.sql.evaluation import failure_of, result_of, value_of


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        ("7 / 2", "INTEGER", 3),
        ("-7 / 2", "INTEGER", -3),
        ("-7 % 3", "INTEGER", -1),
        ("7 % -3", "INTEGER", 1),
        ("2147483647 + 1", "INTEGER", -2147483648),
        ("2147483647 + 2147483648", "BIGINT", 4294967295),
        ("9223372036854775807 + 1", "BIGINT", -(2**63)),
        ("1 + 2e0", "DOUBLE", 3.0),
        ("1e0 / 0", "DOUBLE", math.inf),
        ("-1e0 / 0", "DOUBLE", -math.inf),
        ("5e0 % 3", "DOUBLE", 2.0),
        ("1.5 + 2", "DECIMAL(12, 1)", Decimal("3.5")),
        ("1.50 + 2.5", "DECIMAL(4, 2)", Decimal("4.00")),
        ("1.50 * 2.5", "DECIMAL(6, 3)", Decimal("3.750")),
        ("1.0 / 3.0", "DECIMAL(8, 6)", Decimal("0.333333")),
        ("2.0 / 3.0", "DECIMAL(8, 6)", Decimal("0.666667")),
        ("-7.5 % 2.0", "DECIMAL(2, 1)", Decimal("-1.5")),
        ("1.5 + 2e0", "DOUBLE", 3.5),
        ("'a' + 'b'", "STRING", "ab"),
        ("-(1.50)", "DECIMAL(3, 2)", Decimal("-1.50")),
        ("+(1)", "INTEGER", 1),
        ("1 + 2 * 3 - 4 / 2", "INTEGER", 5),
    ],
)
def test_values_and_types(text: str, type: str, value: Any) -> None:
    result = result_of(text)
    assert (str(result.type), str(result.value), result.failures) == (type, str(value), [])


def test_no_number() -> None:
    assert math.isnan(value_of("0e0 / 0"))
    assert math.isnan(value_of("5e0 % 0"))


def test_the_lowest_number_has_no_negative() -> None:
    assert value_of("-X", X=("INT", -(2**31))) == -(2**31)


@pytest.mark.parametrize("text", ["X / 0", "X % 0", "1.0 / (X - X)", "1.0 % (X - X)"])
def test_division_by_zero_is_null(text: str) -> None:
    assert "zero" in failure_of(text, X=("INT", 1))


@pytest.mark.parametrize("text", ["X + 1", "1 - X", "-X", "X * 2.5", "X / 2e0", "(X + 1) * 2"])
def test_null_makes_null(text: str) -> None:
    assert value_of(text, X=("INT", None)) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "true + 1.5",
            "Error processing expression: (true + 1.5). "
            "Unsupported arithmetic types. BOOLEAN DECIMAL",
        ),
        ("'a' - 'b'", "Unsupported arithmetic types. STRING STRING"),
        ("'a' + 1", "Unsupported arithmetic types. STRING INTEGER"),
        ("NULL + 1", "Arithmetic on types null and INTEGER are not supported."),
        ("-X", "Unsupported arithmetic types. STRING"),
    ],
)
def test_types_that_have_no_arithmetic(text: str, message: str) -> None:
    with pytest.raises(TypingError) as error:
        result_of(text, {"X": ("STRING", "a")})
    assert message in str(error.value)
    assert error.value.position is not None


def java_int(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


ints = st.integers(-(2**31), 2**31 - 1)


@given(ints, ints)
def test_ints_are_those_of_java(a: int, b: int) -> None:
    row = {"A": ("INT", a), "B": ("INT", b)}
    assert value_of("A + B", **row) == java_int(a + b)
    assert value_of("A - B", **row) == java_int(a - b)
    assert value_of("A * B", **row) == java_int(a * b)
    if b:
        quotient = value_of("A / B", **row)
        assert quotient == java_int(int(Decimal(a) / Decimal(b)))
        assert value_of("A % B", **row) == math.fmod(a, b)


decimals = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-99, max_value=99)


@given(decimals, decimals)
def test_decimals_are_exact_and_fit_their_types(a: Decimal, b: Decimal) -> None:
    row = {"A": ("DECIMAL(6,4)", a), "B": ("DECIMAL(6,4)", b)}
    assert value_of("A + B", **row) == a + b
    assert value_of("A * B", **row) == a * b
    if b:
        quotient = value_of("A / B", **row)
        assert abs(quotient * b - a) <= abs(b) * Decimal("0.5e-11")
        assert quotient.as_tuple().exponent == -11
