"""When updates of a table are held back, and how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError, require
from headrace.topology.operators import BufferFull


@dataclass(frozen=True)
class BufferConfig:
    """How much a suppression may hold back, and what happens when that is not enough."""

    record_limit: int | None = None
    byte_limit: int | None = None
    when_full: BufferFull = BufferFull.EMIT
    logging: bool = True
    log_config: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def unbounded(cls) -> BufferConfig:
        """No limit but memory."""
        return cls(when_full=BufferFull.SHUT_DOWN)

    @classmethod
    def max_records(cls, limit: int) -> BufferConfig:
        """At most `limit` keys; then the oldest are emitted early."""
        return cls(record_limit=limit)

    @classmethod
    def max_bytes(cls, limit: int) -> BufferConfig:
        """At most `limit` bytes; then the oldest are emitted early."""
        return cls(byte_limit=limit)

    def with_max_records(self, limit: int) -> BufferConfig:
        """With another limit of keys."""
        return replace(self, record_limit=limit)

    def with_max_bytes(self, limit: int) -> BufferConfig:
        """With another limit of bytes."""
        return replace(self, byte_limit=limit)

    def with_no_bound(self) -> BufferConfig:
        """Without limits; so nothing is emitted early."""
        return replace(self, record_limit=None, byte_limit=None, when_full=BufferFull.SHUT_DOWN)

    def shut_down_when_full(self) -> BufferConfig:
        """Stop with StreamsError rather than emit early."""
        return replace(self, when_full=BufferFull.SHUT_DOWN)

    def emit_early_when_full(self) -> BufferConfig:
        """Emit the oldest updates when a limit is reached."""
        return replace(self, when_full=BufferFull.EMIT)

    def with_logging_disabled(self) -> BufferConfig:
        """Without a changelog: what is held back is lost in a crash."""
        return replace(self, logging=False, log_config={})

    def with_logging_enabled(self, config: Mapping[str, str]) -> BufferConfig:
        """With a changelog topic that has these settings."""
        return replace(self, logging=True, log_config=config)


@dataclass(frozen=True)
class Suppressed:
    """Which updates of a table to hold back. `wait_ms` None: until the window is closed."""

    buffer: BufferConfig
    wait_ms: int | None
    name: str | None = None

    @classmethod
    def until_window_closes(cls, buffer: BufferConfig, name: str | None = None) -> Suppressed:
        """Emit only the final result of each window.

        The buffer must not emit early: ArgumentError is raised if it may.
        """
        require(buffer, "The buffer")
        if buffer.when_full is not BufferFull.SHUT_DOWN:
            raise ArgumentError(
                "Final results can't be emitted early. Use BufferConfig.unbounded(), or "
                ".shut_down_when_full() on a limited buffer."
            )
        return cls(buffer, None, name)

    @classmethod
    def until_time_limit(
        cls, limit: timedelta, buffer: BufferConfig, name: str | None = None
    ) -> Suppressed:
        """Emit the latest update of a key when stream time is `limit` past the first one that was
        held back, or the buffer is full."""
        require(buffer, "The buffer")
        return cls(buffer, to_ms(limit, "limit"), name)
