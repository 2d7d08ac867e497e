"""The judge's rules for answers of a server."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from .responses import responses_difference

STATUS = {"@type": "currentStatus", "commandStatus": {"status": "SUCCESS"}, "warnings": []}
HEADER = {"header": {"queryId": "query_1", "schema": "`A` INTEGER"}}


def row(*columns: Any) -> dict[str, Any]:
    return {"row": {"columns": list(columns)}}


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ([], [STATUS]),
        ([{"admin": {"@type": "currentStatus"}}], [STATUS]),
        ([{"admin": {"commandStatus": {"status": "SUCCESS"}}}], [STATUS]),
        ([{"admin": {"warnings": []}}], [STATUS]),
        ([{"admin": {"statementText": "{STATEMENT}"}}], [{"statementText": "CREATE;"}]),
        (
            [{"query": [{"header": {"schema": "`A` INTEGER"}}, row(1), row(2)]}],
            [[HEADER, row(2), row(1)]],
        ),
        ([{"query": [{"header": {"queryId|starts_with": "query"}}]}], [[HEADER]]),
        ([{"query": [row(Decimal("1.0"), None)]}], [[row(Decimal("1.0"), None)]]),
        (
            [{"queryProto": [{"row": "A: 1\n"}, {"finalMessage": "Done"}]}],
            [[{"row": "A: 1\n"}, {"finalMessage": "Done"}]],
        ),
    ],
)
def test_equal(expected: list[dict[str, Any]], actual: list[Any]) -> None:
    assert responses_difference(expected, actual, ["CREATE;"]) is None


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ([{"admin": {"@type": "currentStatus"}}], []),
        ([{"admin": {"@type": "streams"}}], [STATUS]),
        ([{"admin": {"commandStatus": {"status": "ERROR"}}}], [STATUS]),
        ([{"admin": {"message": "x"}}], [STATUS]),
        ([{"admin": {"warnings": ["x"]}}], [STATUS]),
        ([{"query": [row(1)]}], [[row(1), row(1)]]),
        ([{"query": [row(1), row(1)]}], [[row(1), row(2)]]),
        ([{"query": [row(1)]}], [[row(Decimal("1.0"))]]),
        ([{"query": [row(Decimal("1.0"))]}], [[row(Decimal("1.00"))]]),
        ([{"query": [row(1)]}], [[HEADER]]),
        ([{"query": [{"header": {"queryId|starts_with": "x"}}]}], [[HEADER]]),
        ([{"query": [{"finalMessage": "Limit Reached"}]}], [[row(1)]]),
        ([{"queryProto": [{"row": "A: 1\n"}]}], [[{"row": "A: 2\n"}]]),
        ([{"query": [row(1)]}], [{"@type": "generic_error"}]),
    ],
)
def test_different(expected: list[dict[str, Any]], actual: list[Any]) -> None:
    assert responses_difference(expected, actual, ["CREATE;"]) is not None


def test_the_order_of_rows_counts_if_it_is_asked_for() -> None:
    expected, actual = [{"query": [row(1), row(2)]}], [[row(2), row(1)]]
    assert responses_difference(expected, actual, []) is None
    assert responses_difference(expected, actual, [], verify_order=True) is not None
