"""DATE, TIME and TIMESTAMP as text, as casts read and write them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

DAY = 86_400_000
"""Milliseconds of a day."""

_EPOCH = date(1970, 1, 1).toordinal()
_PARTIAL = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})"
    r"(?:[T ](?:(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})"
    r"(?:[.,](?P<fraction>\d{1,9}))?)?)?)?(?P<zone>Z|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?)?)?"
)
_TIME = re.compile(
    r"(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9}))?)?"
)


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01."""
    return date(year, month, day).toordinal() - _EPOCH


def date_of(days: int) -> date:
    return date.fromordinal(days + _EPOCH)


def date_text(days: int) -> str:
    """`2020-02-29`."""
    return date_of(days).isoformat()


def time_text(milliseconds: int) -> str:
    """`10:20`, or `10:20:30` if there are seconds. Parts of seconds are not shown."""
    minutes, seconds = divmod(milliseconds // 1000, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def timestamp_text(milliseconds: int) -> str:
    """`2020-02-29T10:20:30.400`, in UTC."""
    days, rest = divmod(milliseconds, DAY)
    seconds, fraction = divmod(rest, 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"{date_text(days)}T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{fraction:03}"


def parse_timestamp(text: str) -> int:
    """Reads as much of an ISO timestamp as there is: `2020`, `2020-02-29T10:20+0100`. In UTC."""
    match = _PARTIAL.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"Failed to parse timestamp '{text}'. Required format is: "
            "\"yyyy-MM-dd'T'HH:mm:ss.SSS\", with an optional numeric 4-digit timezone, for "
            "example: '2020-05-26T23.59.58.000' or with tz: '2020-05-26T23.59.58.000+0200'. "
            'Partials are also supported, for example "2020-05-26"'
        )
    parts = match.groupdict()
    whole = days_of(int(parts["year"]), int(parts["month"] or 1), int(parts["day"] or 1)) * DAY
    return whole + _milliseconds(parts) - _offset(parts["zone"])


def parse_date(text: str) -> int:
    """Reads `2020-02-29`, or the beginning of it."""
    match = _PARTIAL.fullmatch(text.strip())
    if match is None or match["hour"] is not None or match["zone"] is not None:
        raise ValueError(
            f"Failed to parse date '{text}'. Required format is: \"yyyy-MM-dd\". "
            'Partials are also supported, for example "2020-05"'
        )
    return days_of(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))


def parse_time(text: str) -> int:
    """Reads `10:20` or `10:20:30.400`."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"Failed to parse time '{text}'. Required format is: \"HH:mm:ss.SSS\". "
            'Partials are also supported, for example "10:20"'
        )
    return _milliseconds(match.groupdict())


def _milliseconds(parts: dict[str, str | None]) -> int:
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"There is no time {hour:02}:{minute:02}:{second:02}")
    fraction = int(f"{parts['fraction'] or '':0<3}"[:3])
    return ((hour * 60 + minute) * 60 + second) * 1000 + fraction


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return minutes * 60_000 * (-1 if zone[0] == "-" else 1)


_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


@lru_cache(maxsize=1_000)
def zone_of(name: str) -> timezone | ZoneInfo:
    """A zone by its name, `Europe/Berlin`, or by its offset, `+01:00`, `UTC-3`, `Z`."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    match = _OFFSET.fullmatch(name)
    if match is not None:
        sign, *parts = match.groups()
        hours, minutes, seconds = (int(part or 0) for part in parts)
        if hours > 18 or minutes > 59 or seconds > 59:
            raise ValueError(f"Invalid ID for ZoneOffset: {name}")
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name)
    except Exception as error:
        raise ValueError(f"Unknown time-zone ID: {name}") from error


_UNIX = datetime(1970, 1, 1, tzinfo=UTC)


def instant_in(milliseconds: int, zone: timezone | ZoneInfo) -> datetime:
    """What clocks in a zone show at an instant."""
    return (_UNIX + timedelta(milliseconds=milliseconds)).astimezone(zone)


def offset_at(milliseconds: int, zone: timezone | ZoneInfo) -> int:
    """Milliseconds that a zone is ahead of UTC at an instant."""
    ahead: timedelta | None
    if isinstance(zone, timezone):
        ahead = zone.utcoffset(None)
    else:
        ahead = instant_in(milliseconds, zone).utcoffset()
    assert ahead is not None  # zones that are given always have one
    return ahead // timedelta(milliseconds=1)


def instant_of(local: int, zone: timezone | ZoneInfo) -> int:
    """The instant when clocks in a zone show `local` milliseconds since 1970-01-01T00:00. Of two,
    the earlier; where clocks skip it, as much later, as Java does."""
    if isinstance(zone, timezone):
        return local - offset_at(0, zone)
    shown = (_UNIX + timedelta(milliseconds=local)).replace(tzinfo=zone)
    ahead = shown.utcoffset()
    assert ahead is not None  # zones that are given always have one
    return local - ahead // timedelta(milliseconds=1)
