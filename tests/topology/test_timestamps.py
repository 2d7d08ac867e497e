from __future__ import annotations

import logging
import time

import pytest

from headrace import timestamps
from headrace.core.errors import StreamsError
from headrace.core.record import ConsumerRecord


def record(timestamp: int) -> ConsumerRecord:
    return ConsumerRecord("orders", 2, 17, timestamp, "k", "v")


@pytest.mark.parametrize(
    "extractor",
    [timestamps.fail_on_invalid, timestamps.log_and_skip, timestamps.use_partition_time],
)
def test_a_valid_timestamp_is_taken(extractor: timestamps.TimestampExtractor) -> None:
    assert extractor(record(0), 99) == 0
    assert extractor(record(1234), -1) == 1234


def test_fail_on_invalid_says_where_and_what_to_do() -> None:
    with pytest.raises(StreamsError, match=r"orders-2@17 .* -1.* another timestamp extractor"):
        timestamps.fail_on_invalid(record(-1), 5)


def test_log_and_skip_gives_the_negative_timestamp(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headrace.timestamps"):
        assert timestamps.log_and_skip(record(-7), 5) == -7
    assert "orders-2@17" in caplog.text


def test_use_partition_time() -> None:
    assert timestamps.use_partition_time(record(-1), 5) == 5
    with pytest.raises(StreamsError, match="orders-2@17"):
        timestamps.use_partition_time(record(-1), -1)


def test_wall_clock_is_the_machines() -> None:
    before = time.time_ns() // 1_000_000
    assert before <= timestamps.wall_clock(record(-1), 5) <= time.time_ns() // 1_000_000
