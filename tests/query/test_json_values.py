"""Keys and values of stores as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel

from headrace import ValueAndTimestamp, VersionedRecord, Window, Windowed
from headrace.query.json_values import to_json


@dataclass(frozen=True)
class Order:
    price: Decimal
    raw: bytes


class Model(BaseModel):
    at: datetime


class Pair(NamedTuple):
    left: int
    right: int


class Colour(Enum):
    RED = "red"


class Odd:
    def __str__(self) -> str:
        return "odd"


AT = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (b"\xff\x00", "/wA="),
        (Order(Decimal("1.10"), b"a"), {"price": "1.10", "raw": "YQ=="}),
        (Model(at=AT), {"at": "2024-01-02T03:04:05Z"}),
        (AT, "2024-01-02T03:04:05+00:00"),
        (UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        (Pair(1, 2), {"left": 1, "right": 2}),
        ((1, "b"), [1, "b"]),
        ({3}, [3]),
        (Colour.RED, "red"),
        (Odd(), "odd"),
        (float("nan"), None),
        ({1: 2, "b": {b"k": 3}}, {"1": 2, "b": {"aw==": 3}}),
        (2**64, str(2**64)),
        ([Order(Decimal(1), b""), 2**70], [{"price": "1", "raw": ""}, str(2**70)]),
        ("\ud800", "?"),
        ({(1, 2): "\ud800"}, {"[1,2]": "?"}),
        (
            Windowed("a", Window(0, 10)),
            {"key": "a", "window": {"start": 0, "end": 10}},
        ),
        (ValueAndTimestamp(1, 2), {"value": 1, "timestamp": 2}),
        (
            VersionedRecord(b"x", 2),
            {"value": "eA==", "timestamp": 2, "valid_to": None},
        ),
    ],
)
def test_everything_is_json(value: Any, expected: Any) -> None:
    assert json.loads(to_json(value)) == expected
