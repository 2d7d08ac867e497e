"""The harness' own functions, against the corpus' README."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.record import ValueAndTimestamp, VersionedRecord
from headrace.core.windowed import Window, Windowed

from . import combiners, functions
from .functions import UserException
from .text import (
    NumberFormatException,
    canonical_json,
    double_text,
    length,
    long,
    parse_long,
    to_str,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.5, "1.5"),
        (0.001, "0.001"),
        (0.0005, "5.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-12345678.5, "-1.23456785E7"),
        (1e100, "1.0E100"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_written_as_java_does(number: float, text: str) -> None:
    assert double_text(number) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("a", "a"),
        (True, "true"),
        (7, "7"),
        (Windowed("k", Window(1, 2)), "[k@1/2]"),
        (ValueAndTimestamp("v", 3), "v@3"),
        (VersionedRecord("v", 3), "v@3"),
        (VersionedRecord("v", 3, 9), "v@3-9"),
        ({"b": [1, None], "a": "ä"}, '{"a":"ä","b":[1,null]}'),
    ],
)
def test_text_of_values(value: Any, text: str) -> None:
    assert to_str(value) == text


def test_json_keys_are_sorted_by_utf16_unit() -> None:
    assert canonical_json({"\uffff": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\uffff":1}'


def test_strings_are_measured_in_utf16_units() -> None:
    assert length("a\U0001f600") == 3


def test_longs_wrap_and_are_checked() -> None:
    assert long(2**63) == -(2**63)
    assert parse_long("-12") == -12
    for text in ("", "zz", "1.0", " 1", "1_0", str(2**63)):
        with pytest.raises(NumberFormatException):
            parse_long(text)


@pytest.mark.parametrize(
    ("spec", "value", "result"),
    [
        ("key_in:k,l", None, True),
        ("value_in:a,b", None, False),
        ("value_mod_eq:3,1", -2, True),
        ("value_len_gt:1", "ab", True),
        ("field_eq:f,1", {"f": 1}, True),
        ("field_gt:f,1", {"f": None}, False),
        ("true_unless_fail:x", None, True),
    ],
)
def test_predicates(spec: str, value: Any, result: bool) -> None:
    predicate = functions.predicate(spec)
    assert predicate is not None
    assert predicate("k", value) is result


@pytest.mark.parametrize(
    ("spec", "value", "result"),
    [
        ("upper", None, None),
        ("append_str:!", None, "null!"),
        ("part:1", "a|b", "b"),
        ("part:1", "a|", None),
        ("part:1", "a", None),
        ("key_and_value", 1, "k:1"),
        ("half", 3, 1.5),
        ("json_mask:c", {"c": "1234567"}, {"c": "xxxx-xxxx-xxxx-4567"}),
        ("json_product:o,a,b", {"a": 3}, {"a": 3, "o": 0}),
        ("json_set_key:f", {}, {"f": "k"}),
        ("top_format:1,n,s", {"items": [{"n": "x", "s": 2}, {"n": "y", "s": 1}]}, "1)x:2"),
        (["append:!", "length"], "ab", 3),
    ],
)
def test_mappers(spec: str | list[str], value: Any, result: Any) -> None:
    mapper = functions.mapper(spec)
    assert mapper is not None
    assert mapper("k", value) == result


@pytest.mark.parametrize(
    ("spec", "value", "aggregate", "result"),
    [
        ("concat:+", "b", None, "b"),
        ("concat:+", "b", "a", "a+b"),
        ("sub", 2, None, -2),
        ("max", 1, 1, 1),
        ("null_if:b", "b", "a", None),
        ("null_if_len_gt:2", "b", "a", None),
        ("top_add:n,t", {"n": 2, "t": "b"}, {}, {"items": [{"n": 2, "t": "b"}]}),
        ("top_remove:n,t", {"n": 2}, {"items": [{"n": 2}]}, {"items": []}),
        ("json_stats:n", {"n": -5}, {}, {"count": 1, "sum": -5, "max": -5}),
    ],
)
def test_aggregators(spec: str, value: Any, aggregate: Any, result: Any) -> None:
    assert combiners.aggregator(spec)("k", value, aggregate) == result


def test_reducers_mergers_and_joiners() -> None:
    assert combiners.reducer("concat:-")("a", None) == "a-null"
    assert combiners.merger("sum")("k", None, 2) == 2
    assert combiners.joiner("concat_key:-")("k", "l", None) == "k:l-null"
    assert combiners.joiner("json_put:f")("k", None, 1) == {"f": 1}


def test_functions_that_fail() -> None:
    mapper = functions.mapper("fail_if:x")
    assert mapper is not None
    assert mapper("k", None) is None
    with pytest.raises(UserException, match="boom: x"):
        mapper("k", "x")
    with pytest.raises(UserException, match="boom: x"):
        combiners.aggregator("fail_if:x")("k", "x", "a")
