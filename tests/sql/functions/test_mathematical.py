"""Functions of numbers."""

import math
from decimal import Decimal
from typing import Any

import pytest

from tests.sql.evaluation import failure_of, result_of, value_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ABS(-3)", 3),
        ("ABS(-1.50)", Decimal("1.50")),
        ("ABS(-2147483647 - 1)", -(2**31)),
        ("CEIL(1.20)", Decimal("2.00")),
        ("FLOOR(-1.20)", Decimal("-2.00")),
        ("CEIL(1e0 / 3)", 1.0),
        ("ROUND(1.5e0)", 2),
        ("ROUND(-1.5e0)", -1),
        ("ROUND(0.49999999999999994e0)", 0),
        ("ROUND(-2.55)", Decimal("-3")),
        ("ROUND(2.5)", Decimal("3")),
        ("ROUND(-2.5)", Decimal("-2")),
        ("ROUND(1.255e0, 2)", 1.26),
        ("ROUND(1255.5e0, -2)", 1300.0),
        ("ROUND(12.345, 1)", Decimal("12.300")),
        ("TRUNC(-1.9e0)", -1),
        ("TRUNC(-12.345, 1)", Decimal("-12.300")),
        ("TRUNC(12.345)", Decimal("12")),
        ("SIGN(-4.0e0)", -1),
        ("POWER(2, 10)", 1024.0),
        ("POWER(0e0, -1e0)", math.inf),
        ("LOG(10, 1000)", pytest.approx(3.0)),
        ("LN(0)", -math.inf),
        ("EXP(1000)", math.inf),
        ("SINH(-1000)", -math.inf),
        ("COT(0)", math.inf),
        ("CBRT(-27)", -3.0),
        ("CBRT(0.001e0)", 0.1),
        ("DEGREES(PI())", 180.0),
        ("ATAN2(1, 0)", math.pi / 2),
    ],
)
def test_values(text: str, expected: Any) -> None:
    value = value_of(text)
    assert value == expected
    assert type(value) is type(expected) or isinstance(expected, type(pytest.approx(1.0)))


@pytest.mark.parametrize(
    "text",
    ["SQRT(-1)", "ACOS(2)", "LN(-1)", "LOG(1, 5)", "LOG(-2, 5)", "POWER(-1e0, 0.5e0)"],
)
def test_out_of_the_domain_is_no_number(text: str) -> None:
    assert math.isnan(value_of(text))


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("ROUND(12.345)", "DECIMAL(2, 0)"),
        ("ROUND(12.345, 1)", "DECIMAL(5, 3)"),
        ("ABS(12.345)", "DECIMAL(5, 3)"),
        ("GREATEST(1.5, 100.25)", "DECIMAL(5, 2)"),
        ("ROUND(1)", "BIGINT"),
        ("SIGN(1e0)", "INTEGER"),
    ],
)
def test_types(text: str, type: str) -> None:
    assert str(result_of(text).type) == type


def test_greatest_and_least_ignore_null() -> None:
    assert value_of("GREATEST(1, NULL, 3)") == 3
    assert value_of("LEAST(X, X)", X=("INT", None)) is None
    assert value_of("LEAST('b', 'B')") == "B"
    assert value_of("GREATEST(X, Y)", X=("BYTES", b"\x7f"), Y=("BYTES", b"\xff")) == b"\x7f"


def test_greatest_of_text_goes_by_units() -> None:
    assert value_of("GREATEST('\uffff', '\U0001f600')") == "\uffff"


def test_null_gives_null() -> None:
    for text in ("ABS(X)", "ROUND(X)", "SQRT(X)", "POWER(X, 2e0)", "TRUNC(X, 1)"):
        assert value_of(text, X=("DOUBLE", None)) is None


def test_random_numbers() -> None:
    values = {value_of("RANDOM()") for _ in range(10)}
    assert len(values) > 1
    assert all(0 <= value < 1 for value in values)


def test_distance() -> None:
    # From London to Paris
    assert value_of("GEO_DISTANCE(51.5074, -0.1278, 48.8566, 2.3522)") == pytest.approx(343.5, 1e-3)
    miles = value_of("GEO_DISTANCE(51.5074, -0.1278, 48.8566, 2.3522, 'Miles')")
    assert miles == pytest.approx(213.5, 1e-3)
    assert "latitude" in failure_of("GEO_DISTANCE(91.0, 0.0, 0.0, 0.0)")
    assert "longitude" in failure_of("GEO_DISTANCE(9.0, 181.0, 0.0, 0.0)")
    assert "units" in failure_of("GEO_DISTANCE(9.0, 1.0, 0.0, 0.0, 'yards')")
