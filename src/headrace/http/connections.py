"""Connections of a server: so many at once, and those that ask nothing make room for others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable


class Connection:
    """One of them. It begins idle: who has connected has not asked yet."""

    def __init__(self, connections: Connections, close: Callable[[], None]) -> None:
        self._connections = connections
        self.close = close

    def busy(self) -> None:
        """A whole request has come, and is being answered."""
        self._connections._idle.pop(self, None)

    def idle(self) -> None:
        """All requests are answered."""
        if self in self._connections._all:
            self._connections._idle[self] = None

    def ended(self) -> None:
        self._connections._all.discard(self)
        self._connections._idle.pop(self, None)


class Connections:
    """The open ones, at most `most`. For the one thread of an event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._all: set[Connection] = set()
        self._idle: OrderedDict[Connection, None] = OrderedDict()
        """Those without a request under way, the one that is idle for longest first."""

    def opened(self, close: Callable[[], None]) -> Connection | None:
        """Another one, which `close` closes; None if all that there may be are busy. If there are
        as many already, the one that is idle for longest is closed."""
        if len(self._all) >= self._most:
            if not self._idle:
                return None
            longest, _ = self._idle.popitem(last=False)
            self._all.discard(longest)
            longest.close()
        connection = Connection(self, close)
        self._all.add(connection)
        self._idle[connection] = None
        return connection

    def close_idle(self) -> None:
        for each in list(self._idle):
            each.close()

    def __len__(self) -> int:
        return len(self._all)
