"""The boot of the machine: which it is, and moments in it that no change of the clock can move."""

from __future__ import annotations

import math
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_UNKNOWN = "unknown"
_UPTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on while the machine sleeps, where there is such a clock."""


@cache
def boot_id() -> str:
    """Another one after every start of the machine, where that can be told."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return _UNKNOWN


class Moment(NamedTuple):
    """When something was: in which boot, how long after its beginning, and by the clock."""

    boot: str
    uptime_ms: int
    wall_ms: int

    @classmethod
    def now(cls) -> Moment:
        uptime_ms = time.clock_gettime_ns(_UPTIME) // 1_000_000
        return cls(boot_id(), uptime_ms, time.time_ns() // 1_000_000)

    def age_ms(self) -> float:
        """How long ago it was at least. Within a boot the clock isn't asked. If it was in the
        future by the clock, that was set back, and nobody knows."""
        now = Moment.now()
        if now.boot == self.boot != _UNKNOWN:
            return max(0, now.uptime_ms - self.uptime_ms)
        age_ms = now.wall_ms - self.wall_ms
        return math.inf if age_ms < 0 else max(age_ms, now.uptime_ms)


NEVER = Moment("", 0, 0)
