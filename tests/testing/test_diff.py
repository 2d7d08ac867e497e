"""How pytest shows that records differ."""

from __future__ import annotations

import sys

import pytest

import headrace_pytest
from headrace import Headers, Record
from headrace.testing.diff import explain


def record(value: str, timestamp: int = 0, headers: Headers | None = None) -> Record[str, str]:
    return Record("k", value, timestamp, headers or Headers())


def test_two_records() -> None:
    left, right = record("a", 1), record("b", 2, Headers([("h", b"1")]))
    assert explain(left, right) == [
        "the records differ:",
        "- 'k': 'a' @1",
        "+ 'k': 'b' @2 [('h', b'1')]",
        "  ^ value, timestamp, headers",
    ]


def test_lists_show_what_differs_with_its_surroundings() -> None:
    left = [record(str(number)) for number in range(20)]
    right = [*left[:2], record("x"), *left[3:15], record("15", 7), *left[16:]]
    assert explain(left, right) == [
        "2 of 20 records differ (- read: 20, + expected: 20):",
        "    0  'k': '0' @0",
        "    1  'k': '1' @0",
        "-   2  'k': '2' @0",
        "+   2  'k': 'x' @0",
        "       ^ value",
        "    3  'k': '3' @0",
        "    4  'k': '4' @0",
        "    5  'k': '5' @0",
        "  ...",
        "   12  'k': '12' @0",
        "   13  'k': '13' @0",
        "   14  'k': '14' @0",
        "-  15  'k': '15' @0",
        "+  15  'k': '15' @7",
        "       ^ timestamp",
        "   16  'k': '16' @0",
        "   17  'k': '17' @0",
        "   18  'k': '18' @0",
    ]


def test_records_that_are_missing_or_too_many() -> None:
    assert explain([record("a")], []) == [
        "1 of 1 records differ (- read: 1, + expected: 0):",
        "-   0  'k': 'a' @0",
    ]
    assert explain([], [record("a")]) == [
        "1 of 1 records differ (- read: 0, + expected: 1):",
        "+   0  'k': 'a' @0",
    ]


@pytest.mark.parametrize(
    ("left", "right"), [([], []), ([1], [record("a")]), (record("a"), 1), ((), ()), ("a", "b")]
)
def test_other_things_are_left_to_pytest(left: object, right: object) -> None:
    assert explain(left, right) is None


def test_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = headrace_pytest.pytest_assertrepr_compare
    assert hook("==", record("a"), record("b")) == explain(record("a"), record("b"))
    assert hook("!=", record("a"), record("a")) is None
    monkeypatch.delitem(sys.modules, "headrace")
    assert hook("==", record("a"), record("b")) is None
