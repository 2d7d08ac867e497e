"""Keys of windowed results."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K")

LONG_MAX = 2**63 - 1


class Window(NamedTuple):
    """A span of event time in milliseconds.

    The end is exclusive in time windows and inclusive in sliding and session windows.
    """

    start: int
    end: int


class Windowed(NamedTuple, Generic[K]):
    """A key within a window."""

    key: K
    window: Window

    def __str__(self) -> str:
        return f"[{self.key}@{self.window.start}/{self.window.end}]"
