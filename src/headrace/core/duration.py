"""Durations: `timedelta` outside, whole milliseconds inside."""

from __future__ import annotations

from datetime import timedelta

from headrace.core.errors import ArgumentError, NullArgumentError

_MILLISECOND = timedelta(milliseconds=1)


def to_ms(duration: timedelta, what: str) -> int:
    """`duration` in milliseconds, rounded down; `what` names it in the error."""
    if duration is None:
        raise NullArgumentError(f"{what} can't be None")
    if not isinstance(duration, timedelta):
        raise ArgumentError(
            f"{what} must be a datetime.timedelta, not {type(duration).__name__} {duration!r}"
        )
    return duration // _MILLISECOND
