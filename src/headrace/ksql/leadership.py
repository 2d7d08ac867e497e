"""Which of several servers runs the queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Leadership(Protocol):
    """Of all servers of a service one leads: it runs the queries."""

    def start(self, changed: Callable[[bool], None]) -> None:
        """Take part. `changed(leads)` is called whenever this server begins to lead or no longer
        does."""
        ...

    def leader(self) -> str | None:
        """The address of the server that leads; None if it isn't known."""
        ...

    def close(self) -> None:
        """Take part no more."""
        ...


class Alone:
    """There are no other servers."""

    def start(self, changed: Callable[[bool], None]) -> None:
        changed(True)

    def leader(self) -> str | None:
        return None

    def close(self) -> None:
        """Nobody else is there to lead."""
