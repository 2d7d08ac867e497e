from __future__ import annotations

import pytest

from headrace.core.errors import StreamsError
from headrace.core.record import (
    FixedKeyRecord,
    Headers,
    Record,
    RecordMetadata,
    TaskId,
    TopicPartition,
)
from headrace.core.windowed import Window, Windowed


def test_headers_keep_order_and_repeated_names() -> None:
    headers = Headers().add("a", b"1").add("b", None).add("a", b"2")
    assert headers == [("a", b"1"), ("b", None), ("a", b"2")]
    assert headers.last("a") == b"2"
    assert headers.last("missing") is None
    assert headers.remove_all("a") == [("b", None)]


def test_derived_records_have_headers_of_their_own() -> None:
    record = Record("k", 1, 5, Headers([("h", b"x")]))
    for derived in (
        record.with_key("other"),
        record.with_value(2),
        record.with_timestamp(6),
        record.with_headers(record.headers),
    ):
        derived.headers.add("more", b"")
    assert record.headers == [("h", b"x")]
    assert record.with_key("other").key == "other"
    assert record.with_value(2).value == 2
    assert record.with_timestamp(6).timestamp == 6


def test_a_negative_timestamp_is_refused() -> None:
    with pytest.raises(StreamsError, match="negative"):
        Record("k", 1, -1)
    with pytest.raises(StreamsError, match="negative"):
        Record("k", 1, 0).with_timestamp(-5)


def test_a_fixed_key_record_keeps_its_key() -> None:
    record = FixedKeyRecord("k", 1, 5, Headers([("h", b"x")]))
    derived = record.with_value(2).with_timestamp(6).with_headers([])
    assert (derived.key, derived.value, derived.timestamp, derived.headers) == ("k", 2, 6, [])
    with pytest.raises(AttributeError):
        record.key = "other"  # type: ignore[misc]


def test_how_places_are_written() -> None:
    assert str(TopicPartition("orders", 3)) == "orders-3"
    assert str(RecordMetadata("orders", 3, 42)) == "orders-3@42"
    assert str(TaskId(1, 3)) == "1_3"
    assert str(Windowed("k", Window(0, 10))) == "[k@0/10]"
