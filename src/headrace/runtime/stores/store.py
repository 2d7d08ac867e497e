"""What all stores have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.record import NO_HEADERS
from headrace.core.windowed import LONG_MAX
from headrace.runtime.stores.environment import Logged, StoreEnvironment
from headrace.topology.stores import StoreSpec

FlushListener = Callable[[Any, Any, Any, int], None]
"""`listener(key, new, old, timestamp)`: an update of a table leaves the cache."""


class Store(ABC):
    """A store of a task, open from the moment it is made."""

    def __init__(self, spec: StoreSpec, environment: StoreEnvironment) -> None:
        self.spec = spec
        self.name = spec.name
        self.is_open = True
        self._context = environment.context
        self._log = environment.log if spec.logging else None
        self.latest_restored = LONG_MAX
        """A restore doesn't set the store's own time later than that."""

    def flush(self) -> None:  # noqa: B027
        """Write out what is held back, and forward it."""

    def close(self) -> None:
        self.flush()
        self.is_open = False

    def set_flush_listener(self, listener: FlushListener, send_old_values: bool) -> bool:
        """Have every update told when it leaves the cache. False: there is no cache."""
        return False

    def facts(self) -> dict[str, int]:
        """What the next store of this name has to know, besides the entries of its maps. It is
        saved with them, when nothing is held back."""
        return {}

    @abstractmethod
    def restore(self, records: Iterable[Logged]) -> None:
        """Apply records of the changelog."""

    def _log_plain(self, key: bytes, value: bytes | None) -> None:
        """Log with the current record's timestamp, without headers."""
        if self._log is not None:
            self._log(self.name, key, value, self._context.timestamp, NO_HEADERS)
