"""Logins that have failed."""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

_MOST = 10
_WINDOW_S = 60.0
_CLIENTS = 4096


class FailedLogins:
    """Who gives wrong credentials too often has to wait, so that nobody can try them all."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        """When the last logins of a client have failed."""

    def failed(self, client: str) -> None:
        """The credentials of a client were wrong."""
        times = self._failures.setdefault(client, deque(maxlen=_MOST))
        times.append(self._clock())
        self._failures.move_to_end(client)
        if len(self._failures) > _CLIENTS:
            self._failures.popitem(last=False)

    def wait_s(self, client: str) -> int:
        """0 if the client may try to log in now, else how many seconds to wait."""
        times = self._failures.get(client)
        if times is None or len(times) < _MOST:
            return 0
        return max(0, math.ceil(times[0] + _WINDOW_S - self._clock()))
