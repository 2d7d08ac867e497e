"""The parts of a pattern that say a zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone
from zoneinfo import ZoneInfo

from headrace.sql import times
from headrace.sql.time_patterns.elements import unfit
from headrace.sql.time_patterns.moments import Moment, Parsed


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
            raise unfit(text, at)
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
            raise unfit(text, at)
        word = match[0]
        if self.form != "id" and word.upper() in _ZONE_NAMES:
            parsed.zone = times.zone_of(_ZONE_NAMES[word.upper()][0])
        else:
            parsed.zone = times.zone_of(word)
        return match.end()


def _short_name(zone: ZoneInfo, instant: int) -> str:
    return times.instant_in(instant, zone).tzname() or zone.key
