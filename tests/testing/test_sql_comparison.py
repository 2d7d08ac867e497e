"""Whether values are the expected ones."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headrace.testing.sql.comparison import difference


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (None, None),
        (None, b""),
        ({"a": None}, {"A": b""}),
        ({"id": 1}, {"ID": 1}),
        ({"ID": 1}, {"ID": 1}),
        ([1, [True]], [1, [True]]),
        ("x", "x"),
        ("AQI=", b"\1\2"),
        ("1.10", Decimal("1.10")),
        (Decimal("1.5"), 1),
        (1, 1.0000001),
        (1, Decimal("1")),
        (Decimal("1.10"), Decimal("1.10")),
    ],
)
def test_equal(expected: Any, actual: Any) -> None:
    assert difference(expected, actual) is None


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (None, 0),
        ({"a": {"b": None}}, {"A": {"B": b""}}),
        ({"ID": 1}, {"id": 1}),
        ({"A": None}, {}),
        ({"A": 1}, {"A": 1, "B": None}),
        ([1], [1, 2]),
        (True, 1),
        (1, True),
        ("1.1", Decimal("1.10")),
        ("x", None),
        (1, 2),
        (1, 1.1),
        (1, Decimal("1.0")),
        (Decimal("1.0"), Decimal("1.00")),
        (1, "1"),
    ],
)
def test_different(expected: Any, actual: Any) -> None:
    assert difference(expected, actual) is not None
