"""Functions of dates and times.

Where ksqlDB takes the zone of its server, this is UTC: results don't depend on where they are made.
"""

from __future__ import annotations

import time
from datetime import UTC

from headrace.sql import times
from headrace.sql.casts import wrapped_int
from headrace.sql.functions.library import Library
from headrace.sql.time_patterns import Moment, time_pattern
from headrace.sql.times import DAY, zone_of

library = Library("DATE / TIME")


@library.scalar("unix_timestamp", "() -> BIGINT")
def now() -> int:
    """The milliseconds since 1970-01-01 UTC: now, or at a timestamp."""
    return time.time_ns() // 1_000_000


@library.scalar("unix_timestamp", "(TIMESTAMP timestamp) -> BIGINT")
def unix_timestamp(timestamp: int) -> int:
    return timestamp


@library.scalar("from_unixtime", "(BIGINT epochMilli) -> TIMESTAMP")
def from_unixtime(milliseconds: int) -> int:
    """The timestamp of milliseconds since 1970-01-01 UTC."""
    return milliseconds


@library.scalar("unix_date", "() -> INT")
def today() -> int:
    """The days since 1970-01-01: today, or at a date."""
    return now() // DAY


@library.scalar("unix_date", "(DATE date) -> INT")
def unix_date(days: int) -> int:
    return days


@library.scalar("from_days", "(INT days) -> DATE")
def from_days(days: int) -> int:
    """The date of days since 1970-01-01."""
    return days


# Arithmetic. A unit is its milliseconds.


def _toward_zero(milliseconds: int) -> int:
    days = abs(milliseconds) // DAY
    return wrapped_int(days if milliseconds >= 0 else -days)


@library.scalar("dateadd", "(INTERVAL_UNIT unit, INT interval, DATE date) -> DATE")
def date_add(unit: int, interval: int, days: int) -> int:
    """A date some time later."""
    return _toward_zero(days * DAY + unit * interval)


@library.scalar("datesub", "(INTERVAL_UNIT unit, INT interval, DATE date) -> DATE")
def date_sub(unit: int, interval: int, days: int) -> int:
    """A date some time earlier."""
    return _toward_zero(days * DAY - unit * interval)


@library.scalar("timeadd", "(INTERVAL_UNIT unit, INT interval, TIME time) -> TIME")
def time_add(unit: int, interval: int, milliseconds: int) -> int:
    """A time of day some time later, around the clock."""
    return (milliseconds + unit * interval) % DAY


@library.scalar("timesub", "(INTERVAL_UNIT unit, INT interval, TIME time) -> TIME")
def time_sub(unit: int, interval: int, milliseconds: int) -> int:
    """A time of day some time earlier, around the clock."""
    return (milliseconds - unit * interval) % DAY


@library.scalar(
    "timestampadd", "(INTERVAL_UNIT unit, INT interval, TIMESTAMP timestamp) -> TIMESTAMP"
)
def timestamp_add(unit: int, interval: int, timestamp: int) -> int:
    """A timestamp some time later."""
    return timestamp + unit * interval


@library.scalar(
    "timestampsub", "(INTERVAL_UNIT unit, INT interval, TIMESTAMP timestamp) -> TIMESTAMP"
)
def timestamp_sub(unit: int, interval: int, timestamp: int) -> int:
    """A timestamp some time earlier."""
    return timestamp - unit * interval


@library.scalar(
    "convert_tz",
    "(TIMESTAMP timestamp, STRING fromTimeZone, STRING toTimeZone) -> TIMESTAMP",
)
def convert_tz(timestamp: int, source: str, target: str) -> int:
    """A timestamp as clocks in another zone show it."""
    ahead = times.offset_at(timestamp, zone_of(target)) - times.offset_at(
        timestamp, zone_of(source)
    )
    return timestamp + ahead


# Text


@library.scalar("format_timestamp", "(TIMESTAMP timestamp, STRING formatPattern) -> STRING")
@library.scalar(
    "format_timestamp",
    "(TIMESTAMP timestamp, STRING formatPattern, STRING timeZone) -> STRING",
)
@library.scalar(
    "timestamptostring",
    "(BIGINT epochMilli, STRING formatPattern) -> STRING",
    "(BIGINT epochMilli, STRING formatPattern, STRING timeZone) -> STRING",
)
def format_timestamp(timestamp: int, pattern: str, zone: str = "UTC") -> str:
    """A timestamp as text, by a pattern of Java's DateTimeFormatter."""
    return time_pattern(pattern).text_of(Moment.of_timestamp(timestamp, zone_of(zone)))


@library.scalar("format_date", "(DATE date, STRING formatPattern) -> STRING")
@library.scalar("datetostring", "(INT epochDays, STRING formatPattern) -> STRING")
def format_date(days: int, pattern: str) -> str:
    """A date as text, by a pattern of Java's DateTimeFormatter."""
    return time_pattern(pattern).text_of(Moment.of_date(days))


@library.scalar("format_time", "(TIME time, STRING formatPattern) -> STRING")
def format_time(milliseconds: int, pattern: str) -> str:
    """A time of day as text, by a pattern of Java's DateTimeFormatter."""
    return time_pattern(pattern).text_of(Moment.of_time(milliseconds))


@library.scalar(
    "parse_timestamp",
    "(STRING formattedTimestamp, STRING formatPattern) -> TIMESTAMP",
    "(STRING formattedTimestamp, STRING formatPattern, STRING timeZone) -> TIMESTAMP",
)
@library.scalar(
    "stringtotimestamp",
    "(STRING formattedTimestamp, STRING formatPattern) -> BIGINT",
    "(STRING formattedTimestamp, STRING formatPattern, STRING timeZone) -> BIGINT",
)
def parse_timestamp(text: str, pattern: str, zone: str = "UTC") -> int:
    """The timestamp that text says, by a pattern of Java's DateTimeFormatter."""
    return time_pattern(pattern).parse(text).timestamp(zone_of(zone))


@library.scalar("stringtodate", "(STRING formattedDate, STRING formatPattern) -> INT")
def string_to_date(text: str, pattern: str) -> int:
    """The date that text says, as days since 1970-01-01."""
    return time_pattern(pattern).parse(text).days()


@library.scalar("parse_date", "(STRING formattedDate, STRING formatPattern) -> DATE")
def parse_date(text: str, pattern: str) -> int:
    """The date that text says, by a pattern of Java's DateTimeFormatter. What follows it in the
    text doesn't matter."""
    parsed, _ = time_pattern(pattern).parse_beginning(text)
    instant = parsed.timestamp(UTC)
    if instant % DAY:
        raise ValueError(f"Date format contains time field: {pattern}")
    return instant // DAY


_TIME_FIELDS = ("AmPm", "Hour", "Minute", "Second", "Milli", "Nano")


@library.scalar("parse_time", "(STRING formattedTime, STRING formatPattern) -> TIME")
def parse_time(text: str, pattern: str) -> int:
    """The time of day that text says, by a pattern of Java's DateTimeFormatter."""
    parsed = time_pattern(pattern).parse(text)
    for name in parsed.fields:
        if not any(part in name for part in _TIME_FIELDS):
            raise ValueError(f"Time format contains date field: {pattern}")
    return parsed.time()
