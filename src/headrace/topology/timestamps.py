"""Timestamp extractors: which time counts as the time of a record.

An extractor is given the record and the highest timestamp seen in its partition so far (-1: none
yet). A record for which it gives a negative timestamp is dropped.
"""

from __future__ import annotations

import logging

from headrace.core.clock import SystemClock
from headrace.core.errors import StreamsError
from headrace.core.record import ConsumerRecord

log = logging.getLogger("headrace.timestamps")

_MACHINE_CLOCK = SystemClock()


def fail_on_invalid(record: ConsumerRecord, partition_time: int) -> int:
    """The record's own timestamp; StreamsError if that is negative. The default."""
    if record.timestamp < 0:
        raise StreamsError(
            f"The record at {_position(record)} has the invalid (negative) timestamp "
            f"{record.timestamp}. Have its producer set one, or read the topic with another "
            "timestamp extractor: log_and_skip, use_partition_time, or your own."
        )
    return record.timestamp


def log_and_skip(record: ConsumerRecord, partition_time: int) -> int:
    """The record's own timestamp; a record with a negative one is dropped with a warning."""
    if record.timestamp < 0:
        log.warning(
            "The record at %s is dropped: it has the invalid (negative) timestamp %d.",
            _position(record),
            record.timestamp,
            extra={
                "topic": record.topic,
                "partition": record.partition,
                "offset": record.offset,
            },
        )
    return record.timestamp


def use_partition_time(record: ConsumerRecord, partition_time: int) -> int:
    """The record's own timestamp; for a negative one, the highest timestamp seen in the partition.
    StreamsError if there is none yet."""
    if record.timestamp >= 0:
        return record.timestamp
    if partition_time < 0:
        raise StreamsError(
            f"The record at {_position(record)} has the invalid (negative) timestamp "
            f"{record.timestamp}, and no record of its partition had a valid one before. "
            "Read the topic with another timestamp extractor: log_and_skip, or your own."
        )
    return partition_time


def wall_clock(record: ConsumerRecord, partition_time: int) -> int:
    """The time of the machine's clock at which the record is read, whatever its timestamp."""
    return _MACHINE_CLOCK.now_ms()


def _position(record: ConsumerRecord) -> str:
    return f"{record.topic}-{record.partition}@{record.offset}"
