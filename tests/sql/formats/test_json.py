"""JSON: what is read leniently, and numbers as Java writes them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

from headrace.core.errors import SerializationError
from headrace.sql.formats import RowFormat, format_info, row_serde

from .rows import keys_of, values_of


def read(text: str, of: str, wrap: bool | None = None) -> Any:
    return row_serde(values_of("JSON", of, wrap), "t").deserialize(text.encode())


def written(row: tuple[Any, ...], of: str, wrap: bool | None = None) -> Any:
    return row_serde(values_of("JSON", of, wrap), "t").serialize(row)


@pytest.mark.parametrize(
    ("text", "of", "row"),
    [
        ('{"A": 1, "B": "x"}', "A INT, B STRING", (1, "x")),
        ('{"a": 1, "b": "x", "c": 5}', "A INT, B STRING", (1, "x")),
        ('{"a": 1, "A": 2}', "A INT", (2,)),
        ('{"a": 1}', "`a` INT", (1,)),
        ('{"A": 1}', "`a` INT", (None,)),
        ("{}", "A INT", (None,)),
        ('{"A": null}', "A INT", (None,)),
        ('{"A": "12"}', "A INT", (12,)),
        ('{"A": 1.9}', "A INT", (1,)),
        ('{"A": 4294967297}', "A INT", (1,)),
        ('{"A": 1e300}', "A INT", (2**31 - 1,)),
        ('{"A": -1e999999999, "B": 1}', "A BIGINT, B DECIMAL(4,2)", (-(2**63), Decimal("1.00"))),
        ('{"A": 12}', "A STRING", ("12",)),
        ('{"A": 1.10}', "A STRING", ("1.10",)),
        ('{"A": true}', "A STRING", ("true",)),
        ('{"A": {"b": [1.50, "é"]}}', "A STRING", ('{"b":[1.50,"é"]}',)),
        ('{"A": 3}', "A DOUBLE", (3.0,)),
        ('{"A": "3.5"}', "A DOUBLE", (3.5,)),
        ('{"A": 1.005}', "A DECIMAL(4,2)", (Decimal("1.01"),)),
        ('{"A": "1"}', "A DECIMAL(4,2)", (Decimal("1.00"),)),
        ('{"A": "AQI="}', "A BYTES", (b"\1\2",)),
        ('{"A": {"x": 1, "Y": null}}', "A STRUCT<X INT, Y INT>", ({"X": 1, "Y": None},)),
        ('{"A": [1, null]}', "A ARRAY<INT>", ([1, None],)),
        ('{"A": {"k": 1, "l": null}}', "A MAP<STRING, INT>", ({"k": 1, "l": None},)),
    ],
)
def test_reading(text: str, of: str, row: tuple[Any, ...]) -> None:
    assert read(text, of) == row


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("not json", "A INT"),
        ("[1]", "A INT"),
        ('{"A": "x"}', "A INT"),
        ('{"A": "99999999999"}', "A INT"),
        ('{"A": true}', "A INT"),
        ('{"A": "true"}', "A BOOLEAN"),
        ('{"A": 1}', "A ARRAY<INT>"),
        ('{"A": [1]}', "A MAP<STRING, INT>"),
        ('{"A": [1]}', "A STRUCT<X INT>"),
        ('{"A": "x"}', "A DECIMAL(4,2)"),
        ('{"A": "?"}', "A BYTES"),
    ],
)
def test_what_does_not_fit(text: str, of: str) -> None:
    with pytest.raises(SerializationError):
        read(text, of)


def test_a_decimal_that_is_too_large() -> None:
    with pytest.raises(ArithmeticError, match="Numeric field overflow"):
        read('{"A": 123.4}', "A DECIMAL(4,2)")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1.0"),
        (-2.5, "-2.5"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (-1.234e-20, "-1.234E-20"),
        (2.0**62, "4.6116860184273879E18"),
        (-(2.0**53), "-9.007199254740992E15"),
        (2.0**63, "9.223372036854776E18"),
        (1e18, "1.0E18"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), '"Infinity"'),
        (float("nan"), '"NaN"'),
    ],
)
def test_doubles_are_written_as_java_does(number: float, text: str) -> None:
    assert written((number,), "A DOUBLE") == f'{{"A":{text}}}'.encode()
    assert written(({"X": [number]},), "A STRUCT<X ARRAY<DOUBLE>>") == (
        f'{{"A":{{"X":[{text}]}}}}'.encode()
    )


def test_decimals_keep_their_digits() -> None:
    assert written((Decimal("1.10"),), "A DECIMAL(4,2)") == b'{"A":1.10}'


def test_single_columns_by_themselves() -> None:
    assert written((1,), "A INT", wrap=False) == b"1"
    assert written((None,), "A INT", wrap=False) is None
    assert read("1", "A INT", wrap=False) == (1,)
    assert read("null", "A INT", wrap=False) is None


def test_keys_of_one_column_have_no_record_around_them() -> None:
    assert row_serde(keys_of("JSON", "A INT"), "t").serialize((1,)) == b"1"
    both = row_serde(keys_of("JSON", "A INT, B INT"), "t")
    assert both.serialize((1, 2)) == b'{"A":1,"B":2}'


def test_a_key_without_columns_is_ignored() -> None:
    keyless = row_serde(RowFormat(format_info("JSON"), (), is_key=True), "t")
    assert keyless.deserialize(b"anything") is None


def test_maps_of_other_keys_are_kept_between_steps() -> None:
    rows = values_of("JSON", "A MAP<INT, DECIMAL(4,2)>")
    serde = row_serde(rows, "t")
    row = ({1: Decimal("1.10"), 2: None},)
    assert serde.deserialize(serde.serialize(row)) == row


_COLUMNS = (
    "A INT, B STRING, C DOUBLE, D DECIMAL(4,2), E ARRAY<INT>, F MAP<STRING, DOUBLE>, "
    "G ARRAY<DECIMAL(4,2)>, H STRUCT<A INT, B BOOLEAN>"
)
_SIMPLE = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([2**31, 2**40, 2**63, 1.0, 1.5, 1e300])
    | st.sampled_from(["t", "1", "1.25", "NaN", "é😀", 'a"\\b'])
)
_NAMES = st.sampled_from([*"AaBbCcDdEeFfGgHhxy", 'x"y'])
_OBJECTS = st.dictionaries(
    _NAMES, _SIMPLE | st.lists(_SIMPLE, max_size=2) | st.dictionaries(_NAMES, _SIMPLE, max_size=2)
)


@given(st.lists(_OBJECTS, max_size=8))
def test_what_was_read_before_makes_no_difference(objects: list[dict[str, Any]]) -> None:
    """The reader expects objects to look like earlier ones."""
    experienced = row_serde(values_of("JSON", _COLUMNS), "topic")
    for each in objects:
        data = orjson.dumps(each)
        fresh = row_serde(values_of("JSON", _COLUMNS), "topic")
        expected = outcome(fresh.deserialize, data)
        assert repr(outcome(experienced.deserialize, data)) == repr(expected)
        assert repr(outcome(fresh.deserialize, data)) == repr(expected)


def outcome(read: Any, data: bytes) -> Any:
    try:
        return read(data)
    except (SerializationError, ArithmeticError) as error:
        return str(error)


@pytest.mark.parametrize("columns", ["A INT, B STRING, C DOUBLE", "A INT, D DECIMAL(4,2)"])
@given(st.lists(_OBJECTS | st.none(), max_size=8))
def test_what_can_not_be_read_does_not_pass_the_check(
    columns: str, objects: list[dict[str, Any] | None]
) -> None:
    serde = row_serde(values_of("JSON", columns), "topic")
    assert serde.check is not None
    for each in objects:
        data = orjson.dumps(each)
        expected = outcome(row_serde(values_of("JSON", columns), "topic").deserialize, data)
        found = outcome(serde.check, data)
        assert (found is None) == (expected is None)
        assert found == expected or not isinstance(expected, str)


def test_columns_that_differ_in_case_only() -> None:
    serde = row_serde(values_of("JSON", "A INT, `a` INT"), "topic")
    for _ in range(2):
        assert serde.deserialize(b'{"a": 1}') == (1, 1)
    for _ in range(2):
        assert serde.deserialize(b'{"a": 1, "A": 2}') == (2, 1)


def test_readers_go_to_other_processes_when_they_have_read() -> None:
    serde = row_serde(values_of("JSON", "A INT, B DECIMAL(4,2)"), "topic")
    data = b'{"a": 1, "b": 2, "c": 3}'
    row = serde.deserialize(data)
    again = cloudpickle.loads(cloudpickle.dumps(serde))  # type: ignore[no-untyped-call]
    assert again.deserialize(data) == row == serde.deserialize(data)


def test_an_exact_name_goes_before_one_in_lower_case() -> None:
    serde = row_serde(values_of("JSON", "A INT, B INT"), "topic")
    assert serde.deserialize(b'{"a": 1, "b": 2}') == (1, 2)
    assert serde.deserialize(b'{"a": 1, "b": 2, "A": 3}') == (3, 2)
    assert serde.deserialize(b'{"a": 1, "b": 2, "x": 3}') == (1, 2)
    assert serde.deserialize(b'{"a": 1, "b": 2, "B": 3}') == (1, 3)
    assert serde.deserialize(b'{"a": 1, "x": 3}') == (1, None)
    assert serde.deserialize(b'{"b": 1, "x": 3}') == (None, 1)
