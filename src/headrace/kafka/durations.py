"""ISO 8601 durations, as Java's `Duration.parse` takes them."""

from __future__ import annotations

import re
from datetime import timedelta

_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<days>[+-]?\d+)D)?"
    r"(?:T(?:(?P<hours>[+-]?\d+)H)?(?:(?P<minutes>[+-]?\d+)M)?"
    r"(?:(?P<seconds>[+-]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE,
)


def iso_duration(text: str) -> timedelta | None:
    """The duration that `text` (such as PT1H30M) is, or None if it is none."""
    match = _DURATION.fullmatch(text.strip())
    parts = match.groupdict() if match else {}
    sign = parts.pop("sign", "")
    given = {unit: part for unit, part in parts.items() if part is not None}
    if not given or text.strip().upper().endswith("T"):
        return None
    numbers = {unit: float(part.replace(",", ".")) for unit, part in given.items()}
    duration = timedelta(**numbers)
    return -duration if sign == "-" else duration
