"""Formats of internal topics and stores, beyond what the vectors pin."""

from __future__ import annotations

import pickle
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import serdes
from headrace.core.errors import ArgumentError, SerializationError
from headrace.core.record import Change, Headers, ValueAndTimestamp
from headrace.core.windowed import Window, Windowed
from headrace.serde import buffer
from headrace.serde.buffer import BufferValue, Origin
from headrace.serde.change import change
from headrace.serde.foreign_key import (
    CombinedKey,
    Instruction,
    Subscription,
    SubscriptionResponse,
    combined_key,
    foreign_key_prefix,
    subscription,
    subscription_response,
)
from headrace.serde.headers import read_headers, write_headers
from headrace.serde.outer_join import (
    OuterJoinKey,
    OuterJoinValue,
    outer_join_key,
    outer_join_value,
    value_list,
)
from headrace.serde.reader import Reader, sized, varint
from headrace.serde.serde import Serde
from headrace.serde.session_store_key import (
    read_time_first_session_store_key,
    time_first_session_store_key,
)
from headrace.serde.value_and_timestamp import read_timestamp, value_and_timestamp
from headrace.serde.value_with_headers import (
    AggregationWithHeaders,
    ValueTimestampHeaders,
    aggregation_with_headers,
    value_timestamp_headers,
    with_headers,
    without_headers,
)
from headrace.serde.versioned import SegmentRow, Version, read_segment_row, write_segment_row
from headrace.serde.window_store_key import (
    WindowStoreKey,
    read_time_first_window_store_key,
    time_first_window_store_key,
)

STRING = serdes.string()
TEXT = st.text()
LONG = st.integers(-(2**63), 2**63 - 1)
INTEGER = st.integers(-(2**31), 2**31 - 1)
NULLABLE = st.none() | st.binary(max_size=5)
HEADERS = st.lists(st.tuples(TEXT, NULLABLE)).map(Headers)
HASH = st.none() | st.binary(min_size=16, max_size=16)
INSTRUCTION = st.sampled_from(Instruction)
ORIGIN = st.builds(Origin, LONG, HEADERS, TEXT, INTEGER, LONG)

VALUES: list[tuple[Serde[Any], st.SearchStrategy[Any]]] = [
    (change(STRING), st.builds(Change, TEXT, st.none() | TEXT, st.just(True))),
    (change(STRING), st.builds(Change, st.none(), TEXT, st.just(True))),
    (value_and_timestamp(STRING), st.builds(ValueAndTimestamp, TEXT, LONG)),
    (value_timestamp_headers(STRING), st.builds(ValueTimestampHeaders, TEXT, LONG, HEADERS)),
    (aggregation_with_headers(STRING), st.builds(AggregationWithHeaders, TEXT, HEADERS)),
    (outer_join_key(STRING), st.builds(OuterJoinKey, LONG, st.booleans(), TEXT)),
    (outer_join_value(STRING, STRING), st.builds(OuterJoinValue, st.booleans(), TEXT)),
    (value_list, st.lists(st.binary())),
    (combined_key(STRING, serdes.long()), st.builds(CombinedKey, TEXT, LONG)),
    (
        subscription(STRING),
        st.builds(Subscription, HASH, INSTRUCTION, TEXT, st.just(1), INTEGER)
        | st.builds(Subscription, HASH, INSTRUCTION, TEXT, st.just(0), st.none()),
    ),
    (
        subscription_response(STRING),
        st.tuples(HASH, st.none() | st.text(min_size=1)).map(
            lambda parts: SubscriptionResponse(*parts)
        ),
    ),
]


@given(st.data())
@pytest.mark.parametrize(("serde", "values"), VALUES)
def test_round_trip(serde: Serde[Any], values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    value = data.draw(values)
    assert serde.deserialize(serde.serialize(value)) == value


@pytest.mark.parametrize("serde", [serde for serde, _ in VALUES])
def test_serdes_can_be_pickled(serde: Serde[Any]) -> None:
    assert isinstance(pickle.loads(pickle.dumps(serde)), Serde)


@given(INTEGER)
def test_varint_round_trip(value: int) -> None:
    assert Reader(varint(value)).varint() == value


def test_a_varint_ends() -> None:
    with pytest.raises(SerializationError, match="more than five bytes"):
        Reader(b"\xff" * 6).varint()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("6f0103", Change(None, "o", True)),
        ("6e0004", Change("n", None, False)),
        ("026e6f0005", Change("n", "o", False)),
        ("026e6f0105", Change("n", "o", True)),
    ],
)
def test_changes_with_latest_flag_are_read(data: str, expected: Change) -> None:
    assert change(STRING).deserialize(bytes.fromhex(data)) == expected


@pytest.mark.parametrize("data", ["", "06", "6e0204", "03"])
def test_what_is_no_change(data: str) -> None:
    with pytest.raises(SerializationError, match="Not a change"):
        change(STRING).deserialize(bytes.fromhex(data))


def test_a_change_of_nothing_raises() -> None:
    with pytest.raises(SerializationError, match="both are None"):
        change(STRING).serialize(Change(None, None))


def test_timestamp_alone() -> None:
    data = value_and_timestamp(STRING).serialize(ValueAndTimestamp("v", 77))
    assert read_timestamp(data) == 77


def test_values_without_headers_have_one_byte_more() -> None:
    data = value_timestamp_headers(STRING).serialize(ValueTimestampHeaders("v", 1, ()))
    assert data == b"\x00" + pack(">q", 1) + b"v"


def test_headers_in_bytes() -> None:
    headers = Headers().add("a", b"x").add("b", None)
    written = bytes.fromhex("0402610278026201")
    assert write_headers(headers) == written
    assert read_headers(written) == headers
    assert read_headers(b"") == []
    assert with_headers(b"value", headers) == b"\x10" + written + b"value"
    assert without_headers(with_headers(b"value", headers)) == b"value"


@given(st.binary(), LONG, INTEGER)
def test_time_first_window_store_key(key: bytes, start: int, sequence: int) -> None:
    data = time_first_window_store_key(key, start, sequence)
    assert data == b"\0" + pack(">q", start) + key + pack(">i", sequence)
    assert read_time_first_window_store_key(data) == WindowStoreKey(key, start, sequence)


@given(st.binary(), LONG, LONG)
def test_time_first_session_store_key(key: bytes, start: int, end: int) -> None:
    data = time_first_session_store_key(key, start, end)
    assert data == b"\0" + pack(">qq", end, start) + key
    assert read_time_first_session_store_key(data) == Windowed(key, Window(start, end))


@given(st.dictionaries(st.integers(0, 10**6), NULLABLE, min_size=1))
def test_segment_rows_round_trip(history: dict[int, bytes | None]) -> None:
    versions = [Version(*version) for version in sorted(history.items(), reverse=True)]
    row = SegmentRow(versions[0].timestamp + 5, versions)
    assert read_segment_row(write_segment_row(row)) == row


def test_segment_row_in_bytes() -> None:
    row = SegmentRow(9, [Version(7, b"new"), Version(6, None), Version(5, b"old")])
    heads = pack(">qi", 7, 3) + pack(">qi", 6, -1) + pack(">qi", 5, 3)
    assert write_segment_row(row) == pack(">qq", 9, 5) + heads + b"oldnew"


def test_foreign_key_prefix() -> None:
    key = combined_key(STRING, STRING).serialize(CombinedKey("fk", "pk"))
    assert key == foreign_key_prefix(STRING, "fk") + b"pk"


def test_subscriptions_for_old_instances_have_no_partition() -> None:
    written = subscription(STRING, version_0=True).serialize(
        Subscription(None, Instruction.DELETE_KEY_AND_PROPAGATE, "k", 1, 3)
    )
    assert written == b"\x80\x01k"
    assert subscription(STRING).deserialize(written) == Subscription(
        None, Instruction.DELETE_KEY_AND_PROPAGATE, "k", 0, None
    )


@pytest.mark.parametrize(
    ("serde", "data", "message"),
    [
        (subscription(STRING), "8200", "version 0 to 1 here, not 2"),
        (subscription(STRING), "8104", "no instruction 4"),
        (subscription(STRING), "810000", "expected at position 2"),
        (subscription(STRING), "0000", "16 bytes expected"),
        (subscription_response(STRING), "81", "version 0 to 0 here, not 1"),
        (combined_key(STRING, STRING), "00000005", "5 bytes expected"),
    ],
)
def test_malformed_messages_of_a_foreign_key_join(
    serde: Serde[Any], data: str, message: str
) -> None:
    with pytest.raises(SerializationError, match=message):
        serde.deserialize(bytes.fromhex(data))


def test_unknown_versions_are_not_written() -> None:
    with pytest.raises(SerializationError, match="not 2"):
        subscription(STRING).serialize(Subscription(None, Instruction(0), "k", 2, 0))
    with pytest.raises(SerializationError, match="not 1"):
        subscription_response(STRING).serialize(SubscriptionResponse(None, "v", 1))


HERE = Origin(5, Headers([("h", b"1"), ("n", None)]), "topic", 2, 40)
HERE_BYTES = (
    pack(">qq", 5, 40)
    + sized(b"topic")
    + pack(">ii", 2, 2)
    + (sized(b"h") + sized(b"1") + sized(b"n") + sized(None))
)


def log_origin(version: bytes | None) -> Origin:
    headers = Headers() if version is None else Headers([("v", version)])
    return Origin(8, headers, "changelog", 0, 3)


@given(st.builds(BufferValue, NULLABLE, NULLABLE, NULLABLE, ORIGIN), LONG)
def test_buffer_values_round_trip(value: BufferValue, time: int) -> None:
    assert buffer.read_buffer_value(buffer.write_buffer_value(value)) == value
    logged = buffer.write_changelog_value(value, time)
    origin = Origin(0, buffer.CHANGELOG_HEADERS, "changelog", 0, 0)
    assert buffer.read_changelog_value(logged, origin) == (value, time)


def test_buffer_value_in_bytes() -> None:
    same = BufferValue(b"old", b"old", b"new", HERE)
    expected = HERE_BYTES + sized(b"old") + pack(">i", -2) + sized(b"new")
    assert buffer.write_buffer_value(same) == expected
    nothing = BufferValue(None, None, None, HERE)
    assert buffer.write_buffer_value(nothing) == HERE_BYTES + sized(None) * 3


def test_resident_size() -> None:
    of_origin = 8 + 8 + 4 + len("topic") + len("h") + 1 + len("n")
    assert buffer.resident_size(BufferValue(b"12", b"12", b"345", HERE)) == of_origin + 5
    assert buffer.resident_size(BufferValue(b"12", b"13", None, HERE)) == of_origin + 4
    assert buffer.resident_size(BufferValue(None, None, None, HERE)) == of_origin
    nowhere = Origin(0, [("é😀", None)], None, -1, -1)
    assert buffer.resident_size(BufferValue(None, b"1", None, nowhere)) == 20 + 3 + 1


def test_old_changelog_versions_are_read() -> None:
    pair = sized(b"old") + sized(b"new")
    time = pack(">q", 11)
    origin = log_origin(None)
    assert buffer.read_changelog_value(time + pair, origin) == (
        BufferValue(b"old", b"old", b"new", origin),
        11,
    )
    first = time + HERE_BYTES + sized(pair)
    assert buffer.read_changelog_value(first, log_origin(b"\x01"), b"prior") == (
        BufferValue(b"prior", b"old", b"new", HERE),
        11,
    )
    second = HERE_BYTES + sized(pair) + sized(b"prior") + time
    expected = BufferValue(b"prior", b"old", b"new", HERE), 11
    assert buffer.read_changelog_value(second, log_origin(b"\x02")) == expected
    third = buffer.write_changelog_value(*expected)
    assert buffer.read_changelog_value(third, log_origin(b"\x02")) == expected


def test_malformed_buffer_values() -> None:
    with pytest.raises(ArgumentError, match="no version"):
        buffer.read_changelog_value(b"", log_origin(b"\x04"))
    with pytest.raises(SerializationError, match="change can't be null"):
        buffer.read_changelog_value(pack(">q", 0) + HERE_BYTES + sized(None), log_origin(b"\x01"))
    with pytest.raises(SerializationError, match="name can't be null"):
        buffer.read_buffer_value(pack(">qq", 0, 0) + sized(None))
    with pytest.raises(SerializationError, match="read from no topic"):
        buffer.write_origin(Origin(0, (), None, -1, -1))


def test_minus_one_headers_are_none() -> None:
    data = pack(">qq", 1, 2) + sized(b"t") + pack(">ii", 3, -1)
    assert buffer.read_origin(Reader(data)) == Origin(1, Headers(), "t", 3, 2)
