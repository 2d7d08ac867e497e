"""Dates and times by pattern, as Java's DateTimeFormatter reads and writes them (in English).

    pattern = time_pattern("yyyy-MM-dd'T'HH:mm:ssX")
    pattern.text_of(Moment.of_timestamp(0, UTC))       # '1970-01-01T00:00:00Z'
    pattern.parse("2020-02-29t10:20:30z").timestamp(UTC)

Text is read in any case. What a text doesn't say is that of 1970-01-01T00:00.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, timedelta, timezone
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo

from headrace.sql import times

Zone = timezone | ZoneInfo

_MONTHS = tuple(calendar.month_name)[1:]
_DAYS = tuple(calendar.day_name)
_QUARTERS = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")


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


class Element(Protocol):
    """A part of a pattern."""

    def write(self, moment: Moment) -> str: ...

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        """Where the text goes on; raises ValueError if it doesn't fit."""


def _unfit(text: str, at: int) -> ValueError:
    return ValueError(f"Text '{text}' could not be parsed at index {at}")


@dataclass(frozen=True)
class Plain:
    """Text that stands for itself."""

    text: str

    def write(self, moment: Moment) -> str:
        return self.text

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        end = at + len(self.text)
        if text[at:end].lower() != self.text.lower():
            raise _unfit(text, at)
        return end


@dataclass(frozen=True)
class Number:
    """A number of some digits. `reserved` are the digits of numbers that follow without a gap."""

    name: str
    low: int
    high: int
    reserved: int = 0
    signed: bool = False

    def write(self, moment: Moment) -> str:
        value = moment.get(self.name)
        text = str(abs(value)).rjust(self.low, "0")
        if len(text) > self.high:
            raise ValueError(f"{self.name} {value} has more than {self.high} digits")
        return f"-{text}" if value < 0 else text

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        start = at
        negative = self.signed and text[at : at + 1] == "-"
        at += negative
        end = at
        while end < len(text) and end - at < self.high + self.reserved and text[end] in _DIGITS:
            end += 1
        end = min(end, max(at + self.low, end - self.reserved), at + self.high)
        if end - at < self.low or end == at:
            raise _unfit(text, start)
        parsed.fields[self.name] = -int(text[at:end]) if negative else int(text[at:end])
        return end


_DIGITS = "0123456789"


@dataclass(frozen=True)
class ShortYear:
    """The last two digits of a year from 2000 to 2099."""

    name: str

    def write(self, moment: Moment) -> str:
        return f"{moment.get(self.name) % 100:02}"

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        digits = text[at : at + 2]
        if len(digits) < 2 or not (digits.isascii() and digits.isdigit()):
            raise _unfit(text, at)
        parsed.fields[self.name] = 2000 + int(digits)
        return at + 2


@dataclass(frozen=True)
class Fraction:
    """Some digits of the fraction of a second."""

    digits: int

    def write(self, moment: Moment) -> str:
        return f"{moment.get('NanoOfSecond'):09}"[: self.digits]

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        digits = text[at : at + self.digits]
        if len(digits) < self.digits or not (digits.isascii() and digits.isdigit()):
            raise _unfit(text, at)
        parsed.fields["NanoOfSecond"] = int(digits.ljust(9, "0"))
        return at + self.digits


@dataclass(frozen=True)
class Name:
    """One of some words. The first stands for `base`."""

    name: str
    words: tuple[str, ...]
    base: int = 1

    def write(self, moment: Moment) -> str:
        return self.words[moment.get(self.name) - self.base]

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        rest = text[at:].lower()
        for value in sorted(range(len(self.words)), key=lambda each: -len(self.words[each])):
            if rest.startswith(self.words[value].lower()):
                parsed.fields[self.name] = value + self.base
                return at + len(self.words[value])
        raise _unfit(text, at)


@dataclass(frozen=True)
class Offset:
    """How far a zone is ahead of UTC: hours, minutes, perhaps seconds."""

    colon: bool
    minutes: bool
    """Whether minutes are always there."""
    seconds: bool
    zero: str
    """What stands for no offset at all."""
    prefix: str = ""

    def write(self, moment: Moment) -> str:
        if moment.zone is None:
            raise ValueError("Unsupported field: OffsetSeconds")
        total = abs(moment.offset) // 1000
        if total == 0:
            return self.zero
        hours, rest = divmod(total, 3600)
        colon = ":" if self.colon else ""
        text = f"{self.prefix}{'-' if moment.offset < 0 else '+'}{hours:02}"
        if self.minutes or rest >= 60:
            text += f"{colon}{rest // 60:02}"
        if self.seconds and rest % 60:
            text += f"{colon}{rest % 60:02}"
        return text

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        if self.zero in ("Z", "GMT") and text[at : at + len(self.zero)].upper() == self.zero:
            following = text[at + len(self.zero) : at + len(self.zero) + 1]
            if self.zero == "Z" or following not in ("+", "-"):
                parsed.zone = UTC
                return at + len(self.zero)
        colon = ":" if self.colon else ""
        least = "" if self.minutes else "?"
        pattern = rf"{self.prefix}([+-])(\d\d)(?:{colon}(\d\d)){least}" + (
            rf"(?:{colon}(\d\d))?" if self.seconds else "()"
        )
        match = re.compile(pattern, re.ASCII | re.IGNORECASE).match(text, at)
        if match is None:
            raise _unfit(text, at)
        hours, minutes, seconds = (int(match[group] or 0) for group in (2, 3, 4))
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        parsed.zone = timezone(-offset if match[1] == "-" else offset)
        return match.end()


_ZONE_NAMES = {
    "PST": ("America/Los_Angeles", "Pacific Standard Time"),
    "PDT": ("America/Los_Angeles", "Pacific Daylight Time"),
    "MST": ("America/Denver", "Mountain Standard Time"),
    "MDT": ("America/Denver", "Mountain Daylight Time"),
    "CST": ("America/Chicago", "Central Standard Time"),
    "CDT": ("America/Chicago", "Central Daylight Time"),
    "EST": ("America/New_York", "Eastern Standard Time"),
    "EDT": ("America/New_York", "Eastern Daylight Time"),
    "AKST": ("America/Anchorage", "Alaska Standard Time"),
    "AKDT": ("America/Anchorage", "Alaska Daylight Time"),
    "HST": ("Pacific/Honolulu", "Hawaii-Aleutian Standard Time"),
    "BST": ("Europe/London", "British Summer Time"),
    "WET": ("Europe/Lisbon", "Western European Standard Time"),
    "WEST": ("Europe/Lisbon", "Western European Summer Time"),
    "CET": ("Europe/Paris", "Central European Standard Time"),
    "CEST": ("Europe/Paris", "Central European Summer Time"),
    "EET": ("Europe/Athens", "Eastern European Standard Time"),
    "EEST": ("Europe/Athens", "Eastern European Summer Time"),
    "MSK": ("Europe/Moscow", "Moscow Standard Time"),
    "IST": ("Asia/Kolkata", "India Standard Time"),
    "JST": ("Asia/Tokyo", "Japan Standard Time"),
    "KST": ("Asia/Seoul", "Korean Standard Time"),
    "AEST": ("Australia/Sydney", "Australian Eastern Standard Time"),
    "AEDT": ("Australia/Sydney", "Australian Eastern Daylight Time"),
    "NZST": ("Pacific/Auckland", "New Zealand Standard Time"),
    "NZDT": ("Pacific/Auckland", "New Zealand Daylight Time"),
    "UTC": ("UTC", "Coordinated Universal Time"),
    "GMT": ("UTC", "Greenwich Mean Time"),
}
_FULL_NAMES = {full.upper(): zone for zone, full in _ZONE_NAMES.values()}
_ZONE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9~/._+-]+(?::\d\d)*|[+-]\d\d(?::?\d\d)*|Z", re.ASCII)


@dataclass(frozen=True)
class ZoneName:
    """A zone by its name, or by the short name that it goes by at the time."""

    form: str
    """`id`, `short` or `full`."""

    def write(self, moment: Moment) -> str:
        zone = moment.zone
        if zone is None:
            raise ValueError("Unable to extract ZoneId from temporal")
        if isinstance(zone, timezone):
            if zone is UTC:
                return "UTC" if self.form != "full" else _ZONE_NAMES["UTC"][1]
            return Offset(True, True, True, "Z").write(moment)
        if self.form == "id":
            return zone.key
        short = _short_name(zone, moment.instant)
        return _ZONE_NAMES[short][1] if self.form == "full" and short in _ZONE_NAMES else short

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        if self.form == "full":
            rest = text[at:].upper()
            for full, name in _FULL_NAMES.items():
                if rest.startswith(full):
                    parsed.zone = times.zone_of(name)
                    return at + len(full)
        match = _ZONE_WORD.match(text, at)
        if match is None:
            raise _unfit(text, at)
        word = match[0]
        if self.form != "id" and word.upper() in _ZONE_NAMES:
            parsed.zone = times.zone_of(_ZONE_NAMES[word.upper()][0])
        else:
            parsed.zone = times.zone_of(word)
        return match.end()


def _short_name(zone: ZoneInfo, instant: int) -> str:
    return times.instant_in(instant, zone).tzname() or zone.key


@dataclass(frozen=True)
class Optional:
    """What may be missing from a text: `[…]`."""

    parts: tuple[Element, ...]

    def write(self, moment: Moment) -> str:
        try:
            return "".join(part.write(moment) for part in self.parts)
        except ValueError:
            return ""

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        attempt = Parsed(dict(parsed.fields), parsed.zone)
        end = at
        try:
            for part in self.parts:
                end = part.read(text, end, attempt)
        except ValueError:
            return at
        parsed.fields, parsed.zone = attempt.fields, attempt.zone
        return end


@dataclass(frozen=True)
class Padded:
    """A part with spaces before it."""

    part: Element
    width: int

    def write(self, moment: Moment) -> str:
        return self.part.write(moment).rjust(self.width)

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        end = at + self.width
        start = at
        while start < end and text[start : start + 1] == " ":
            start += 1
        if self.part.read(text[:end], start, parsed) != end:
            raise _unfit(text, at)
        return end


@dataclass(frozen=True)
class TimePattern:
    """A pattern that was understood."""

    parts: tuple[Element, ...]

    def text_of(self, moment: Moment) -> str:
        return "".join([part.write(moment) for part in self.parts])

    def parse(self, text: str) -> Parsed:
        """Reads a whole text."""
        parsed, end = self.parse_beginning(text)
        if end != len(text):
            raise ValueError(
                f"Text '{text}' could not be parsed, unparsed text found at index {end}"
            )
        return parsed

    def parse_beginning(self, text: str) -> tuple[Parsed, int]:
        """Reads as much of a text as the pattern is for, and says where the rest begins."""
        parsed, at = Parsed(), 0
        for part in self.parts:
            at = part.read(text, at, parsed)
        return parsed, at


@lru_cache(maxsize=1_000)
def time_pattern(pattern: str) -> TimePattern:
    """Understands a pattern; raises ValueError if there is no such letter, or not so often."""
    tokens = _tokens(pattern)
    parts = _parts(tokens, pattern, nested=False)
    return TimePattern(tuple(_with_reserved_digits(parts)))


def _tokens(pattern: str) -> Iterator[tuple[str, int]]:
    """Letters with how often they stand in a row, quoted text after its first quote with 0, and
    other characters."""
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "'":
            match = re.compile(r"'((?:[^']|'')*)'").match(pattern, at)
            if match is None:
                raise ValueError(f"Pattern ends with an incomplete string literal: {pattern}")
            yield "'" + (match[1].replace("''", "'") or "'"), 0
            at = match.end()
            continue
        end = at + 1
        if character.isascii() and character.isalpha():
            while end < len(pattern) and pattern[end] == character:
                end += 1
        yield character, end - at
        at = end


def _parts(tokens: Iterator[tuple[str, int]], pattern: str, *, nested: bool) -> list[Element]:
    parts: list[Element] = []
    pad = 0
    for token, count in tokens:
        if token == "]":
            if not nested:
                raise ValueError(f"Pattern invalid as it contains ] without previous [: {pattern}")
            return parts
        part: Element
        if token == "[":
            part = Optional(tuple(_with_reserved_digits(_parts(tokens, pattern, nested=True))))
        elif token.startswith("'"):
            part = Plain(token[1:])
        elif token == "p":
            pad = count
            continue
        elif token.isascii() and token.isalpha():
            part = _field(token, count, pattern)
        elif token in "{}#":
            raise ValueError(f"Pattern includes reserved character: '{token}'")
        else:
            part = Plain(token)
        parts.append(Padded(part, pad) if pad else part)
        pad = 0
    return parts  # Java closes what is open at the end


def _with_reserved_digits(parts: list[Element]) -> Iterator[Element]:
    """Numbers of any length leave digits to numbers of fixed length right behind them."""
    for at, part in enumerate(parts):
        if not isinstance(part, Number) or part.low == part.high:
            yield part
            continue
        reserved = 0
        for following in parts[at + 1 :]:
            if isinstance(following, Number) and following.low == following.high:
                reserved += following.low
            elif isinstance(following, Fraction):
                reserved += following.digits
            elif isinstance(following, ShortYear):
                reserved += 2
            else:
                break
        yield Number(part.name, part.low, part.high, reserved, part.signed)


_YEARS = {"u": "Year", "y": "YearOfEra", "Y": "WeekBasedYear"}
_UP_TO_TWO = {
    "d": "DayOfMonth",
    "h": "ClockHourOfAmPm",
    "H": "HourOfDay",
    "k": "ClockHourOfDay",
    "K": "HourOfAmPm",
    "m": "MinuteOfHour",
    "s": "SecondOfMinute",
    "w": "WeekOfYear",
}
_ANY_LENGTH = {"A": "MilliOfDay", "n": "NanoOfSecond", "N": "NanoOfDay"}
_WORDS = {
    "M": ("MonthOfYear", _MONTHS),
    "L": ("MonthOfYear", _MONTHS),
    "E": ("DayOfWeek", _DAYS),
    "e": ("LocalDayOfWeek", _DAYS),
    "c": ("LocalDayOfWeek", _DAYS),
    "Q": ("QuarterOfYear", _QUARTERS),
    "q": ("QuarterOfYear", _QUARTERS),
}


def _field(letter: str, count: int, pattern: str) -> Element:
    if letter in _YEARS and count <= 19:
        name = _YEARS[letter]
        return ShortYear(name) if count == 2 else Number(name, count, 19, signed=True)
    if letter in _UP_TO_TWO and count <= 2:
        return Number(_UP_TO_TWO[letter], count, 2 if count == 2 else 19)
    if letter in _ANY_LENGTH and count <= 19:
        return Number(_ANY_LENGTH[letter], count, 19)
    if letter in _WORDS and count <= 5:
        return _word(letter, count)
    match letter, count:
        case "D", 1 | 2 | 3:
            return Number("DayOfYear", count, 3)
        case ("F", 1):
            return Number("AlignedWeekOfMonth", 1, 19)
        case "W", 1:
            return Number("WeekOfMonth", 1, 19)
        case "a", 1:
            return Name("AmPmOfDay", ("AM", "PM"), base=0)
        case "G", 1 | 2 | 3:
            return Name("Era", ("BC", "AD"), base=0)
        case "G", 4:
            return Name("Era", ("Before Christ", "Anno Domini"), base=0)
        case "G", 5:
            return Name("Era", ("B", "A"), base=0)
        case "S", _ if count <= 9:
            return Fraction(count)
    return _zone_field(letter, count, pattern)


def _word(letter: str, count: int) -> Element:
    name, words = _WORDS[letter]
    if count <= 2 and letter != "E":
        return Number(name, count, 2 if count == 2 else 19)
    if letter in "ec":
        name = "DayOfWeek"
    if letter in "Qq":
        short = {3: ("Q1", "Q2", "Q3", "Q4"), 4: words, 5: ("1", "2", "3", "4")}
        return Name(name, short[count])
    if count <= 3:
        return Name(name, tuple(word[:3] for word in words))
    return Name(name, words if count == 4 else tuple(word[:1] for word in words))


def _zone_field(letter: str, count: int, pattern: str) -> Element:
    match letter, count:
        case "V", 2:
            return ZoneName("id")
        case "v", 1 | 4:
            return ZoneName("short" if count == 1 else "full")
        case "z", 1 | 2 | 3 | 4:
            return ZoneName("full" if count == 4 else "short")
        case "O", 1 | 4:
            return Offset(True, count == 4, True, "GMT", "GMT")
        case "X", 1 | 2 | 3 | 4 | 5:
            return Offset(count in (3, 5), count > 1, count > 3, "Z")
        case "x", 1 | 2 | 3 | 4 | 5:
            zero = "+00" if count == 1 else "+00:00" if count in (3, 5) else "+0000"
            return Offset(count in (3, 5), count > 1, count > 3, zero)
        case "Z", 1 | 2 | 3:
            return Offset(False, True, False, "+0000")
        case "Z", 4:
            return Offset(True, True, True, "GMT", "GMT")
        case "Z", 5:
            return Offset(True, True, True, "Z")
    if letter in "VvzOXxZ" or letter in "uyYDdMLQqEecahHkKmsSAnNGwWF":
        raise ValueError(f"Too many pattern letters: {letter} in {pattern}")
    raise ValueError(f"Unknown pattern letter: {letter} in {pattern}")
