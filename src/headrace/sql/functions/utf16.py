"""Positions in text, counted in units of UTF-16, as in Java."""

from __future__ import annotations


def is_plain(text: str) -> bool:
    """Whether every character is one unit."""
    return text.isascii() or max(text) < "\U00010000"


def length(text: str) -> int:
    return len(text) if is_plain(text) else len(_encoded(text)) // 2


def part(text: str, start: int, end: int) -> str:
    """The units from `start` to before `end`, which are within the text."""
    if is_plain(text):
        return text[start:end]
    return _encoded(text)[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def spread(text: str) -> str:
    """A character for each unit: halves of surrogate pairs are characters of their own."""
    if is_plain(text):
        return text
    encoded = _encoded(text)
    return "".join(chr(encoded[at] | encoded[at + 1] << 8) for at in range(0, len(encoded), 2))


def joined(text: str) -> str:
    """Takes back `spread`."""
    return text if text.isascii() else _encoded(text).decode("utf-16-le", "surrogatepass")


def _encoded(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
