"""What is written by a pattern, and what was read by one."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta, timezone
from zoneinfo import ZoneInfo

from headrace.sql import times

Zone = timezone | ZoneInfo


@dataclass(frozen=True)
class Moment:
    """What is written: a day, a time of day, and a zone, as far as there are any."""

    day: date | None = None
    time: int | None = None
    zone: Zone | None = None
    offset: int = 0
    """Milliseconds ahead of UTC."""
    instant: int = 0

    @staticmethod
    def of_timestamp(milliseconds: int, zone: Zone) -> Moment:
        offset = times.offset_at(milliseconds, zone)
        days, time = divmod(milliseconds + offset, times.DAY)
        return Moment(times.date_of(days), time, zone, offset, milliseconds)

    @staticmethod
    def of_date(days: int) -> Moment:
        return Moment(times.date_of(days))

    @staticmethod
    def of_time(milliseconds: int) -> Moment:
        return Moment(time=milliseconds)

    def get(self, name: str) -> int:
        """The number of a field."""
        if name in _OF_DAY:
            if self.day is None:
                raise ValueError(f"Unsupported field: {name}")
            return _OF_DAY[name](self.day)
        if self.time is None:
            raise ValueError(f"Unsupported field: {name}")
        return _OF_TIME[name](self.time)


def _us_week(day: date, first: date) -> int:
    """The number of the week that a day is in; weeks begin on Sundays, the first has `first`."""
    return (day - first + timedelta(days=first.isoweekday() % 7)).days // 7 + 1


def _week_of_year(day: date) -> int:
    following = date(day.year + 1, 1, 1)
    if day >= following - timedelta(days=following.isoweekday() % 7):
        return 1
    return _us_week(day, date(day.year, 1, 1))


def _week_year(day: date) -> int:
    return day.year + (_week_of_year(day) == 1 and day.month == 12)


_OF_DAY: dict[str, Callable[[date], int]] = {
    "Year": lambda day: day.year,
    "YearOfEra": lambda day: day.year,
    "Era": lambda day: 1,
    "MonthOfYear": lambda day: day.month,
    "DayOfMonth": lambda day: day.day,
    "DayOfYear": lambda day: day.timetuple().tm_yday,
    "QuarterOfYear": lambda day: (day.month + 2) // 3,
    "DayOfWeek": lambda day: day.isoweekday(),
    "LocalDayOfWeek": lambda day: day.isoweekday() % 7 + 1,
    "AlignedWeekOfMonth": lambda day: (day.day + 6) // 7,
    "WeekOfYear": _week_of_year,
    "WeekOfMonth": lambda day: _us_week(day, day.replace(day=1)),
    "WeekBasedYear": _week_year,
}
_HOUR, _MINUTE = 3_600_000, 60_000
_OF_TIME: dict[str, Callable[[int], int]] = {
    "AmPmOfDay": lambda time: time // (12 * _HOUR),
    "HourOfDay": lambda time: time // _HOUR,
    "ClockHourOfDay": lambda time: time // _HOUR or 24,
    "HourOfAmPm": lambda time: time // _HOUR % 12,
    "ClockHourOfAmPm": lambda time: time // _HOUR % 12 or 12,
    "MinuteOfHour": lambda time: time // _MINUTE % 60,
    "SecondOfMinute": lambda time: time // 1000 % 60,
    "MilliOfDay": lambda time: time,
    "NanoOfSecond": lambda time: time % 1000 * 1_000_000,
    "NanoOfDay": lambda time: time * 1_000_000,
}


@dataclass
class Parsed:
    """What a text said."""

    fields: dict[str, int] = field(default_factory=dict)
    zone: Zone | None = None

    def days(self) -> int:
        """The day, since 1970-01-01."""
        get = self.fields.get
        year = get("Year", get("YearOfEra", get("WeekBasedYear", 1970)))
        if get("Era") == 0:
            year = 1 - year
        if "DayOfYear" in self.fields:
            return times.days_of(year, 1, 1) + self.fields["DayOfYear"] - 1
        month = get("MonthOfYear", 3 * get("QuarterOfYear", 1) - 2)
        day = get("DayOfMonth", 1)
        if not 1 <= month <= 12 or not 1 <= day <= 31:
            raise ValueError(f"There is no day {day} of month {month}")
        return times.days_of(year, month, min(day, calendar.monthrange(year, month)[1]))

    def time(self) -> int:
        """The milliseconds of the day."""
        get = self.fields.get
        if "MilliOfDay" in self.fields:
            return self.fields["MilliOfDay"]
        if "NanoOfDay" in self.fields:
            return self.fields["NanoOfDay"] // 1_000_000
        hour, minute, second = self._hour(), get("MinuteOfHour", 0), get("SecondOfMinute", 0)
        if hour > 23 or minute > 59 or second > 59:
            raise ValueError(f"There is no time {hour:02}:{minute:02}:{second:02}")
        fraction = get("NanoOfSecond", 0) // 1_000_000
        return (hour * 60 + minute) * _MINUTE + second * 1000 + fraction

    def _hour(self) -> int:
        fields = self.fields
        if "HourOfDay" in fields:
            return fields["HourOfDay"]
        if "ClockHourOfDay" in fields:
            return fields["ClockHourOfDay"] % 24
        for name in ("ClockHourOfAmPm", "HourOfAmPm"):
            if name in fields and "AmPmOfDay" in fields:
                return fields[name] % 12 + 12 * fields["AmPmOfDay"]
        return 0

    def timestamp(self, zone: Zone) -> int:
        """The instant. The zone of the text, if it has one, goes before the one that is given."""
        return times.instant_of(self.days() * times.DAY + self.time(), self.zone or zone)
