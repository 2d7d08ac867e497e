"""CAST between all types."""

import math
from decimal import Decimal
from typing import Any

import pytest

from headrace.sql.expressions import GenerationError
from tests.sql.evaluation import failure_of, result_of, value_of


@pytest.mark.parametrize(
    ("source", "value", "target", "expected"),
    [
        ("BIGINT", 2**31, "INT", -(2**31)),
        ("DOUBLE", 1.9, "INT", 1),
        ("DOUBLE", -1e20, "BIGINT", -(2**63)),
        ("DOUBLE", math.nan, "INT", 0),
        ("DECIMAL(4,2)", Decimal("10.99"), "INT", 10),
        ("DECIMAL(4,2)", Decimal("10.99"), "DOUBLE", 10.99),
        ("INT", 1, "DOUBLE", 1.0),
        ("INT", 1, "DECIMAL(3,2)", Decimal("1.00")),
        ("DOUBLE", 0.125, "DECIMAL(3,2)", Decimal("0.13")),
        ("DECIMAL(4,2)", Decimal("10.15"), "DECIMAL(3,1)", Decimal("10.2")),
        ("STRING", " 12 ", "INT", 12),
        ("STRING", "-12", "BIGINT", -12),
        ("STRING", "1e3", "DOUBLE", 1000.0),
        ("STRING", "Infinity", "DOUBLE", math.inf),
        ("STRING", "1.005", "DECIMAL(3,2)", Decimal("1.01")),
        ("STRING", "TRUE", "BOOLEAN", True),
        ("STRING", "yes", "BOOLEAN", False),
        ("STRING", "what", "BOOLEAN", False),
        ("STRING", "2020-02-29", "DATE", 18321),
        ("STRING", "10:20:30.456", "TIME", 37_230_456),
        ("STRING", "2020", "TIMESTAMP", 1_577_836_800_000),
        ("STRING", "2020-02-29T10:20:30.400+0200", "TIMESTAMP", 1_582_964_430_400),
        ("TIMESTAMP", 1_582_971_630_400, "DATE", 18321),
        ("TIMESTAMP", -1, "DATE", -1),
        ("TIMESTAMP", -1, "TIME", 86_399_999),
        ("DATE", 2, "TIMESTAMP", 172_800_000),
        ("BOOLEAN", True, "STRING", "true"),
        ("DOUBLE", 1e10, "STRING", "1.0E10"),
        ("DECIMAL(9,8)", Decimal("0.00000001"), "STRING", "0.00000001"),
        ("DATE", 18321, "STRING", "2020-02-29"),
        ("TIME", 37_200_000, "STRING", "10:20"),
        ("TIMESTAMP", -1, "STRING", "1969-12-31T23:59:59.999"),
        ("ARRAY<DOUBLE>", [1.0, None], "STRING", "[1.0, null]"),
        ("MAP<STRING, INT>", {"a": 1, "b": 2}, "STRING", "{a=1, b=2}"),
        ("STRUCT<A INT, B STRING, C INT>", {"A": 1, "B": "x", "C": None}, "STRING",
         "Struct{A=1,B=x}"),
        ("ARRAY<INT>", [1, None], "ARRAY<STRING>", ["1", None]),
        ("MAP<STRING, INT>", {"1": 2}, "MAP<INT, DOUBLE>", {1: 2.0}),
        ("STRUCT<A INT, B INT>", {"A": 1, "B": 2}, "STRUCT<C INT, A BIGINT>", {"C": None, "A": 1}),
    ],
)  # fmt: skip
def test_values(source: str, value: Any, target: str, expected: Any) -> None:
    result = value_of(f"CAST(X AS {target})", X=(source, value))
    assert str(result) == str(expected)
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("source", "value", "target"),
    [
        ("STRING", "1.5", "INT"),
        ("STRING", "1_000", "INT"),
        ("STRING", "2147483648", "INT"),
        ("STRING", "nan", "DOUBLE"),
        ("STRING", "1,5", "DECIMAL(2,1)"),
        ("INT", 10, "DECIMAL(2,1)"),
        ("DOUBLE", math.inf, "DECIMAL(2,1)"),
        ("STRING", "2020-02-30", "DATE"),
        ("STRING", "2020-02-29T10", "DATE"),
        ("STRING", "25:00", "TIME"),
        ("STRING", "yesterday", "TIMESTAMP"),
    ],
)
def test_values_that_do_not_fit_are_null(source: str, value: Any, target: str) -> None:
    assert failure_of(f"CAST(X AS {target})", X=(source, value))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("STRING", "ARRAY<INT>"),
        ("STRING", "BYTES"),
        ("BYTES", "STRING"),
        ("BOOLEAN", "INT"),
        ("INT", "BOOLEAN"),
        ("DATE", "TIME"),
        ("BIGINT", "TIMESTAMP"),
        ("ARRAY<BYTES>", "ARRAY<STRING>"),
        ("BOOLEAN", "DECIMAL(2,1)"),
    ],
)
def test_casts_that_there_are_not(source: str, target: str) -> None:
    with pytest.raises(GenerationError, match=r"Cast of .* to .* is not supported"):
        result_of(f"CAST(X AS {target})", {"X": (source, None)})


@pytest.mark.parametrize(
    "type", ["INT", "STRING", "DECIMAL(4,2)", "ARRAY<INT>", "STRUCT<A INT>", "DATE"]
)
def test_null_has_any_type(type: str) -> None:
    result = result_of(f"CAST(NULL AS {type})")
    assert result.value is None
    assert result.type is not None
    assert value_of("CAST(X AS STRING)", X=(type, None)) is None
