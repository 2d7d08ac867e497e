"""What the buffers have in common that hold records back until their time has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.core.windowed import LONG_MAX
from headrace.runtime.context import RecordContext
from headrace.serde.buffer import Origin

NO_TIMESTAMP = LONG_MAX
"""The `min_timestamp` of an empty buffer."""


class Eviction(NamedTuple):
    """A record that leaves a buffer, and the registers it came in with."""

    key: Any
    value: Any
    registers: RecordContext


Predicate = Callable[[], bool]
OnEviction = Callable[[Eviction], None]


def origin_of(registers: RecordContext) -> Origin:
    return Origin(*registers[:5])


def registers_of(origin: Origin) -> RecordContext:
    return RecordContext(*origin, None, None)
