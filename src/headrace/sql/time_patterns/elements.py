"""The parts of a pattern: each writes a part of a text, and reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from headrace.sql.time_patterns.moments import Moment, Parsed


class Element(Protocol):
    """A part of a pattern."""

    def write(self, moment: Moment) -> str: ...

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        """Where the text goes on; raises ValueError if it doesn't fit."""


def unfit(text: str, at: int) -> ValueError:
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
            raise unfit(text, at)
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
            raise unfit(text, start)
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
            raise unfit(text, at)
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
            raise unfit(text, at)
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
        raise unfit(text, at)


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
            raise unfit(text, at)
        return end
