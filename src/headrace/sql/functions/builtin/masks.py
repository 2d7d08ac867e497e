"""MASK and its variants: text that shows no more than what kind of characters it had."""

from __future__ import annotations

from headrace.sql.functions import utf16
from headrace.sql.functions.library import Library

library = Library("STRING")

_ALL = ("X", "x", "n", "-")
"""For upper case, lower case, digits, and all else."""

_WHOLE = "(STRING input) -> STRING"
_WHOLE_BY = "(STRING input, STRING upper, STRING lower, STRING digit, STRING other) -> STRING"
_PART = "(STRING input, INT numChars) -> STRING"
_PART_BY = (
    "(STRING input, INT numChars, STRING upper, STRING lower, STRING digit, STRING other) -> STRING"
)

Masks = tuple[str | None, str | None, str | None, str | None]
"""A character for each kind; None: those stay as they are."""


def _masks(given: tuple[str | None, ...]) -> Masks:
    if not given:
        return _ALL
    for mask in given:
        if mask is not None and len(mask) != 1:
            raise ValueError(f"Invalid mask character: {mask!r}. It must be a single character")
    upper, lower, digit, other = given
    return upper, lower, digit, other


def _masked(text: str, masks: Masks) -> str:
    return "".join(_mask_of(character, masks) or character for character in text)


def _mask_of(character: str, masks: Masks) -> str | None:
    if character.isupper():
        return masks[0]
    if character.islower():
        return masks[1]
    return masks[2] if character.isdecimal() else masks[3]


def _number(amount: int | None, text: str) -> int:
    if amount is None or amount < 0:
        raise ValueError(f"numChars must be at least 0, not {amount}")
    return min(amount, len(text))


@library.scalar("mask", _WHOLE, _WHOLE_BY, strict=False)
def mask(text: str | None, *masks: str | None) -> str | None:
    """Text with X for upper case, x for lower case, n for digits and - for all else."""
    return None if text is None else utf16.joined(_masked(utf16.spread(text), _masks(masks)))


@library.scalar("mask_left", _PART, _PART_BY, strict=False)
def mask_left(text: str | None, amount: int | None, *masks: str | None) -> str | None:
    """Text with its first characters masked."""
    if text is None:
        return None
    units = utf16.spread(text)
    at = _number(amount, units)
    return utf16.joined(_masked(units[:at], _masks(masks)) + units[at:])


@library.scalar("mask_right", _PART, _PART_BY, strict=False)
def mask_right(text: str | None, amount: int | None, *masks: str | None) -> str | None:
    """Text with its last characters masked."""
    if text is None:
        return None
    units = utf16.spread(text)
    at = len(units) - _number(amount, units)
    return utf16.joined(units[:at] + _masked(units[at:], _masks(masks)))


@library.scalar("mask_keep_left", _PART, _PART_BY, strict=False)
def mask_keep_left(text: str | None, amount: int | None, *masks: str | None) -> str | None:
    """Text with all but its first characters masked."""
    if text is None:
        return None
    units = utf16.spread(text)
    at = _number(amount, units)
    return utf16.joined(units[:at] + _masked(units[at:], _masks(masks)))


@library.scalar("mask_keep_right", _PART, _PART_BY, strict=False)
def mask_keep_right(text: str | None, amount: int | None, *masks: str | None) -> str | None:
    """Text with all but its last characters masked."""
    if text is None:
        return None
    units = utf16.spread(text)
    at = len(units) - _number(amount, units)
    return utf16.joined(_masked(units[:at], _masks(masks)) + units[at:])
