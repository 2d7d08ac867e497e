"""What is committed with a position."""

from __future__ import annotations

import base64
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.kafka.metadata import decode, encode, gathered, spread

LONGS = st.integers(-(2**63), 2**63 - 1)

# Encoded by Kafka Streams 4.3.0.
RECORDED = [
    ("Av//////////", -1, {}),
    ("AgAAAYvP5Wh7", 1_700_000_000_123, {}),
    (
        "AgAAAAAAAAAFAAAAAQAAABxLU1RSRUFNLUFHR1JFR0FURS0wMDAwMDAwMDAzAAAAAAAAACo=",
        5,
        {"KSTREAM-AGGREGATE-0000000003": 42},
    ),
    (
        "An//////////AAAAAgAAAAdncsO2w59lgAAAAAAAAAAAAAAcS1NUUkVBTS1BR0dSRUdBVEUtMDAwMDAwMDAwMwAA"
        "AAAAAAAq",
        2**63 - 1,
        {"größe": -(2**63), "KSTREAM-AGGREGATE-0000000003": 42},
    ),
]


@pytest.mark.parametrize(("text", "time", "metadata"), RECORDED)
def test_what_kafka_streams_writes_and_reads(
    text: str, time: int, metadata: dict[str, int]
) -> None:
    assert encode(time, metadata) == text
    assert decode(text) == (time, metadata)


@given(LONGS, st.dictionaries(st.text(max_size=40), LONGS, max_size=5))
def test_what_is_encoded_is_decoded(time: int, metadata: dict[str, int]) -> None:
    assert decode(encode(time, metadata)) == (time, metadata)


def test_earlier_versions() -> None:
    assert decode("") == (-1, {})
    first = base64.b64encode(b"\x01" + (99).to_bytes(8, "big")).decode()
    assert decode(first) == (99, {})


@pytest.mark.parametrize(
    "text",
    [
        "consumer@host",
        "AgAA",
        base64.b64encode(b"\x03" + bytes(8)).decode(),
        base64.b64encode(b"\x02").decode(),
    ],
)
def test_of_what_somebody_else_wrote_nothing_is_known(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "headrace.kafka"):
        assert decode(text) == (-1, {})
    assert "committed position" in caplog.text


def test_the_time_survives_a_damaged_map(caplog: pytest.LogCaptureFixture) -> None:
    raw = base64.b64decode(encode(7, {"a": 1}))
    assert decode(base64.b64encode(raw[:-3]).decode()) == (7, {})


def _times(count: int) -> dict[str, int]:
    return {
        f"stream-time:KSTREAM-AGGREGATE-{number:010}": 1_700_000_000_000 + number * 7919
        for number in range(count)
    }


def test_what_fits_is_committed_with_every_position_as_kafka_streams_does() -> None:
    assert spread(_times(5), 3) == [_times(5)] * 3


@pytest.mark.parametrize(("count", "entries"), [(60, 1), (150, 1), (500, 4)])
def test_what_does_not_fit_is_packed_and_spread(count: int, entries: int) -> None:
    spreading = spread(_times(count), entries)
    sequence = {"headrace.sequence": 2**60}
    read = [decode(encode(2**60, {**some, **sequence}))[1] for some in spreading]
    assert all(len(encode(2**60, {**some, **sequence})) <= 4096 for some in spreading)
    assert gathered(reversed(read)) == _times(count) | sequence


def test_too_much_is_refused() -> None:
    with pytest.raises(ValueError, match="2000 numbers take"):
        spread(_times(2000), 1)


def test_a_piece_that_is_missing_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    assert gathered(spread(_times(500), 4)[1:]) == {}
    assert "isn't whole" in caplog.text
