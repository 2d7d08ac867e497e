"""How large the results of functions may be. It is asked before they are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

Text = TypeVar("Text", str, bytes)

MOST_CHARACTERS = 10_000_000
MOST_ITEMS = 1_000_000


def check_text(size: int) -> None:
    """Raises ValueError if no text, and no bytes, may be so long."""
    if size > MOST_CHARACTERS:
        raise ValueError(
            f"The result would have {size:,} characters or bytes: {MOST_CHARACTERS:,} are allowed"
        )


def text_sum(left: str, right: str) -> str:
    """One after the other, if that isn't too much."""
    check_text(len(left) + len(right))
    return left + right


def joined(separator: Text, parts: Iterable[Text | None]) -> Text:
    """Text one after another, without what is NULL, if it isn't too much."""
    known = [part for part in parts if part is not None]
    check_text(sum(map(len, known)) + len(separator) * (len(known) - 1))
    return separator.join(known)


def check_items(count: int) -> None:
    """Raises ValueError if nothing may have so many items."""
    if count > MOST_ITEMS:
        raise ValueError(f"The result would have {count:,} items: {MOST_ITEMS:,} are allowed")


def weight(value: Any) -> int:
    """How much a value adds to one that it is put into: 1 for a number, and for text and all that
    has items its size."""
    if isinstance(value, str | bytes):
        return 1 + len(value)
    if isinstance(value, dict):
        return 1 + sum(map(weight, value)) + sum(map(weight, value.values()))
    if isinstance(value, list | tuple):
        return 1 + sum(map(weight, value))
    return 1
