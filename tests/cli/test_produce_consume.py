"""How lines become records, and records lines. With a broker: tests/integration/test_cli.py."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.cli.consume import _JsonForm, _TextForm
from headrace.cli.produce import _chunks, _Field, _Lines
from headrace.cli.serde_names import serde_named
from headrace.core.errors import ConfigError, SerializationError
from headrace.core.record import ConsumerRecord
from tests.cli.conftest import Headrace

STRING, JSON, LONG = (serde_named(name) for name in ("string", "json", "long"))


def lines(*text: str, value: str = "string", **options: Any) -> list[Any]:
    fields = {"key": _Field.of("string"), "value": _Field.of(value)}
    chosen = {**fields, "key_separator": None, "as_json": False, **options}
    return list(_Lines("t", **chosen).records(f"{line}\n" for line in text))


def test_lines_are_values() -> None:
    assert lines("a", "", "null") == [
        ("t", None, None, b"a", None, ()),
        ("t", None, None, b"null", None, ()),
    ]


def test_lines_with_keys() -> None:
    assert lines("a:1:2", "b:null", ":x", key_separator=":") == [
        ("t", None, b"a", b"1:2", None, ()),
        ("t", None, b"b", None, None, ()),
        ("t", None, b"", b"x", None, ()),
    ]


def test_values_of_other_serdes() -> None:
    assert lines("5", value="long")[0][3] == LONG.serialize(5)
    assert lines('{"a": 1}', value="json")[0][3] == b'{"a":1}'
    assert lines("plain", value="json")[0][3] == b'"plain"'
    assert lines("5", value="bytes")[0][3] == b"5"
    assert lines('{"value": "5"}', value="bytes", as_json=True)[0][3] == b"5"


def test_lines_of_json() -> None:
    text = '{"key": "a", "value": {"b": 1}, "timestamp": 5, "partition": 2, "headers": {"h": "x"}}'
    assert lines(text, '{"key": "a"}', as_json=True, value="json") == [
        ("t", 2, b"a", b'{"b":1}', 5, [("h", b"x")]),
        ("t", None, b"a", None, None, []),
    ]


@pytest.mark.parametrize(
    ("line", "options", "message"),
    [
        ("a", {"key_separator": ":"}, "Line 1 .* no key separator ':'"),
        ("x", {"value": "long"}, "Line 1 .* not an integer"),
        ("[1]", {"as_json": True}, "no JSON object"),
        ("{", {"as_json": True}, "Line 1"),
    ],
)
def test_lines_that_can_not_be_written(line: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        lines(line, **options)


def test_records_are_sent_together() -> None:
    records = lines(*"abcde")
    assert [len(chunk) for chunk in _chunks(records, 2)] == [2, 2, 1]


RECORD = ConsumerRecord("t", 2, 7, 1_700_000_000_123, b"a", b'{"b":1}', [("h", b"x"), ("n", None)])


def test_text_of_records() -> None:
    plain = _TextForm(STRING, STRING, False, False, False)
    assert plain.line(RECORD) == 'a\t{"b":1}'
    everything = _TextForm(STRING, JSON, True, True, True)
    assert everything.line(RECORD) == '2@7\t2023-11-14T22:13:20.123Z\th=x,n=None\ta\t{"b":1}'
    empty = ConsumerRecord("t", 2, 7, -1, None, None, ())
    assert everything.line(empty) == "2@7\tno timestamp\t\tnull\tnull"
    assert _TextForm(LONG, STRING, False, False, False).line(RECORD) == "b'a'\t{\"b\":1}"


def test_json_of_records() -> None:
    assert _JsonForm(STRING, JSON).line(RECORD) == (
        '{"topic":"t","partition":2,"offset":7,"timestamp":1700000000123,'
        '"headers":{"h":"x","n":null},"key":"a","value":{"b":1}}'
    )
    assert '"key":"b\'a\'"' in _JsonForm(LONG, JSON).line(RECORD)


def test_unknown_serdes(headrace: Headrace) -> None:
    with pytest.raises(ConfigError, match="The serde must be a serde, but is 'strong'"):
        serde_named("strong")
    assert headrace("consume", "t", "-V", "strong").exit_code == 1


def test_options_that_exclude_each_other(headrace: Headrace) -> None:
    result = headrace("produce", "t", "--json", "-k", ":")
    assert result.exit_code == 1
    assert "exclude each other" in result.stderr
