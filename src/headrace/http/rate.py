"""How much is done for one client."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

_CLIENTS = 4096


class Rate:
    """A token bucket for each client. Of those that are not seen for long, nothing is kept."""

    def __init__(self, per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What is left for a client, and when that was."""

    def wait_s(self, client: str) -> int:
        """0 if the client may make a request now, else how many seconds to wait."""
        now = self._clock()
        full = float(self._per_second)
        left, then = self._buckets.get(client, (full, now))
        left = min(full, left + (now - then) * self._per_second)
        allowed = left >= 1
        self._buckets[client] = (left - 1 if allowed else left), now
        self._buckets.move_to_end(client)
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        return 0 if allowed else max(1, math.ceil((1 - left) / self._per_second))
