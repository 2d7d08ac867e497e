"""From the letters of a pattern to its parts."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from headrace.sql.time_patterns.elements import (
    Element,
    Fraction,
    Name,
    Number,
    Optional,
    Padded,
    Plain,
    ShortYear,
)
from headrace.sql.time_patterns.moments import Moment, Parsed
from headrace.sql.time_patterns.zones import Offset, ZoneName

_MONTHS = tuple(calendar.month_name)[1:]
_DAYS = tuple(calendar.day_name)
_QUARTERS = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")


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
