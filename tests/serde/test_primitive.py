from __future__ import annotations

import pickle
import struct
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import serdes
from headrace.core.errors import ArgumentError, NullArgumentError, SerializationError
from headrace.core.windowed import LONG_MAX, Window, Windowed
from headrace.serde import windowed
from headrace.serdes import Serde

SHORT = st.integers(-(2**15), 2**15 - 1)
INTEGER = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text()
TIME = st.integers(0, 2**62 - 1)

VALUES: list[tuple[Serde[Any], st.SearchStrategy[Any]]] = [
    (serdes.string(), TEXT),
    (serdes.bytes_(), st.binary()),
    (serdes.short(), SHORT),
    (serdes.integer(), INTEGER),
    (serdes.long(), LONG),
    (serdes.float_(), st.floats(width=32, allow_nan=False)),
    (serdes.double(), st.floats(allow_nan=False)),
    (serdes.uuid(), st.uuids()),
    (serdes.boolean(), st.booleans()),
    (serdes.list_(serdes.string()), st.lists(TEXT | st.none())),
    (serdes.list_(serdes.short()), st.lists(SHORT | st.none())),
    (serdes.list_(serdes.list_(serdes.uuid())), st.lists(st.lists(st.uuids()))),
    (
        serdes.time_windowed(serdes.string(), timedelta(seconds=1)),
        st.builds(lambda key, start: Windowed(key, Window(start, start + 1000)), TEXT, TIME),
    ),
    (
        serdes.session_windowed(serdes.long()),
        st.builds(
            lambda key, start, gap: Windowed(key, Window(start, start + gap)), LONG, TIME, TIME
        ),
    ),
]


@given(st.data())
@pytest.mark.parametrize(("serde", "values"), VALUES)
def test_round_trip(serde: Serde[Any], values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    value = data.draw(values)
    assert serde.deserialize(serde.serialize(value)) == value


@pytest.mark.parametrize("serde", [serde for serde, _ in VALUES] + [serdes.json(), serdes.void()])
def test_serdes_can_be_pickled(serde: Serde[Any]) -> None:
    assert isinstance(pickle.loads(pickle.dumps(serde)), Serde)


@pytest.mark.parametrize(
    ("serde", "value"),
    [
        (serdes.string(), b"bytes"),
        (serdes.string(), 1),
        (serdes.bytes_(), "text"),
        (serdes.bytes_(), 3),
        (serdes.bytes_(), [1, 2]),
        (serdes.short(), 2**15),
        (serdes.integer(), 1.0),
        (serdes.long(), "1"),
        (serdes.long(), 2**63),
        (serdes.float_(), "1"),
        (serdes.float_(), 1e300),
        (serdes.double(), "1"),
        (serdes.uuid(), "12345678-9abc-def0-1234-56789abcdef0"),
        (serdes.boolean(), 1),
        (serdes.boolean(), "true"),
        (serdes.void(), 1),
        (serdes.list_(serdes.string()), "text"),
        (serdes.list_(serdes.long()), {1: 2}),
        (serdes.list_(serdes.long()), ["1"]),
        (serdes.time_windowed(serdes.string(), timedelta(1)), "text"),
        (serdes.session_windowed(serdes.string()), 5),
    ],
)
def test_a_value_of_another_type_raises(serde: Serde[Any], value: Any) -> None:
    with pytest.raises((SerializationError, TypeError, ValueError, OverflowError, struct.error)):
        serde.serialize(value)


@pytest.mark.parametrize(
    ("serde", "data", "message"),
    [
        (serdes.short(), b"1", "The short serde reads 2 bytes, got 1"),
        (serdes.integer(), b"12345", "The integer serde reads 4 bytes, got 5"),
        (serdes.long(), b"", "The long serde reads 8 bytes, got 0"),
        (serdes.float_(), b"123", "The float serde reads 4 bytes, got 3"),
        (serdes.double(), b"123", "The double serde reads 8 bytes, got 3"),
        (serdes.boolean(), b"", "The boolean serde reads 1 byte, got 0"),
        (serdes.boolean(), b"\x02", "01 or 00, got 02"),
        (serdes.uuid(), b"00000000-0000-0000-0000-0000000000000", "A uuid is written like"),
        (serdes.uuid(), b"{0-0-0-0-0}", "A uuid is written like"),
        (serdes.list_(serdes.string()), b"", "1 bytes expected at position 0, but 0 are left"),
        (serdes.list_(serdes.string()), b"\x00\x00\x00\x00\x00", "another inner serde"),
        (serdes.list_(serdes.long()), b"\x05", "layout 5"),
        (serdes.list_(serdes.string()), bytes.fromhex("010000000100000005"), "5 bytes expected"),
        (serdes.list_(serdes.string()), bytes.fromhex("0100000001fffffffe"), "-2 bytes expected"),
        (serdes.time_windowed(serdes.string(), timedelta(1)), b"1234", "at least 8 bytes, got 4"),
        (serdes.session_windowed(serdes.string()), b"12345678", "at least 16 bytes, got 8"),
    ],
)
def test_bytes_that_do_not_fit(serde: Serde[Any], data: bytes, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        serde.deserialize(data)


def test_a_fixed_length_list_reads_the_other_layout_too() -> None:
    data = bytes.fromhex("010000000200000002000affffffff")
    assert serdes.list_(serdes.short()).deserialize(data) == [10, None]


def test_uuid_groups_may_be_short() -> None:
    assert serdes.uuid().deserialize(b"1-2-3-4-5") == UUID("00000001-0002-0003-0004-000000000005")
    assert serdes.uuid().deserialize(b"A12345678-0-0-0-F") == UUID(int=0x12345678 << 96 | 0xF)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xe6\x97", "\ufffd"),
        (b"\xc0\x80", "\ufffd\ufffd"),
        (b"\xf4\x90\x80\x80", "\ufffd" * 4),
        (b"a\xed\xa0\x80b", "a\ufffdb"),
        (b"\xed\xa0A", "\ufffdA"),
        (b"\xed\xa0", "\ufffd"),
        (b"\xed", "\ufffd"),
    ],
)
def test_malformed_text_is_replaced(data: bytes, text: str) -> None:
    assert serdes.string().deserialize(data) == text


def test_windowed_keys_without_bytes_are_null() -> None:
    assert serdes.time_windowed(serdes.string(), timedelta(1)).deserialize(b"") is None
    assert serdes.session_windowed(serdes.string()).deserialize(b"") is None


def test_a_window_ends_with_time_itself() -> None:
    serde = windowed.time_windowed(serdes.string(), LONG_MAX)
    key = Windowed("k", Window(5, LONG_MAX))
    assert serde.deserialize(serde.serialize(key)) == key


def test_bytes_that_are_no_window() -> None:
    with pytest.raises(ArgumentError, match="Not a window: -1 to 9"):
        windowed.time_windowed(serdes.string(), 10).deserialize(b"\xff" * 8)
    with pytest.raises(ArgumentError, match="Not a window: 5 to 5"):
        windowed.time_windowed(serdes.string(), 0).deserialize(b"\0" * 7 + b"\x05")
    with pytest.raises(ArgumentError, match="Not a window: 5 to 0"):
        serdes.session_windowed(serdes.string()).deserialize(b"\0" * 15 + b"\x05")


def test_the_size_of_a_window_must_be_positive() -> None:
    with pytest.raises(ArgumentError, match="size must be positive"):
        serdes.time_windowed(serdes.string(), timedelta(0))
    with pytest.raises(NullArgumentError):
        serdes.time_windowed(serdes.string(), None)  # type: ignore[arg-type]


def test_a_serde_of_your_own() -> None:
    upper = Serde[str](lambda text: text.upper().encode(), lambda data: data.decode().lower())
    assert upper.serialize("a") == b"A"
    with_nulls: Serde[list[str | None]] = serdes.list_(upper)  # type: ignore[arg-type]
    assert with_nulls.deserialize(with_nulls.serialize(["a", None])) == ["a", None]
