"""DELIMITED: lines as Apache Commons CSV has them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headrace.core.errors import SerializationError
from headrace.sql.formats import row_serde

from .rows import values_of


@pytest.mark.parametrize(
    ("row", "of", "line"),
    [
        ((1, "foo", None), "A INT, B STRING, C INT", "1,foo,"),
        ((None, "x"), "A INT, B STRING", ",x"),
        ((1.0, True), "A DOUBLE, B BOOLEAN", "1.0,true"),
        ((1e10,), "A DOUBLE", "1.0E10"),
        ((-5, -5), "A INT, B INT", '"-5",-5'),
        ((Decimal("0.0000000000"),), "A DECIMAL(20,10)", "0.0000000000"),
        (("a,b", 'say "x"'), "A STRING, B STRING", '"a,b","say ""x"""'),
        (("", ""), "A STRING, B STRING", '"",'),
        (("#x", "a "), "A STRING, B STRING", '"#x","a "'),
        (("a\nb",), "A STRING", '"a\nb"'),
        ((b"\1\2",), "A BYTES", "AQI="),
    ],
)
def test_writing(row: tuple[Any, ...], of: str, line: str) -> None:
    assert row_serde(values_of("DELIMITED", of), "t").serialize(row) == line.encode()


@pytest.mark.parametrize(
    ("line", "of", "row"),
    [
        ("1,foo,", "A INT, B STRING, C INT", (1, "foo", None)),
        ('"22","a ""b"""', "A INT, B STRING", (22, 'a "b"')),
        (".12", "A DECIMAL(6,4)", (Decimal("0.1200"),)),
        (" 5 ", "A INT", (5,)),
        ("TRUE,no", "A BOOLEAN, B BOOLEAN", (True, False)),
        ('"a\r\nb",1', "A STRING, B INT", ("a\r\nb", 1)),
    ],
)
def test_reading(line: str, of: str, row: tuple[Any, ...]) -> None:
    assert row_serde(values_of("DELIMITED", of), "t").deserialize(line.encode()) == row


@pytest.mark.parametrize("line", ["1", "1,2,3", "x,y", "99999999999,y", "", "\n", '"1"x,y'])
def test_lines_that_do_not_fit(line: str) -> None:
    with pytest.raises(SerializationError):
        row_serde(values_of("DELIMITED", "A INT, B STRING"), "t").deserialize(line.encode())


def test_bytes_that_are_no_base64() -> None:
    with pytest.raises(SerializationError):
        row_serde(values_of("DELIMITED", "A BYTES"), "t").deserialize(b"abcde")


@pytest.mark.parametrize(("delimiter", "line"), [("TAB", "1\tx"), ("SPACE", "1 x"), ("|", "1|x")])
def test_other_delimiters(delimiter: str, line: str) -> None:
    serde = row_serde(values_of("DELIMITED", "A INT, B STRING", delimiter=delimiter), "t")
    assert serde.serialize((1, "x")) == line.encode()
    assert serde.deserialize(line.encode()) == (1, "x")
