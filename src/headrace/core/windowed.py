"""Keys of windowed results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

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


# What the constructors do, at a third of their cost: these are made for every record.
make_window: Callable[[tuple[int, int]], Window] = partial(tuple.__new__, Window)
make_windowed: Callable[[tuple[Any, Window]], Windowed[Any]] = partial(tuple.__new__, Windowed)
