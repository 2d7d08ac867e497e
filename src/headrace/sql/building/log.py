"""The processing log: what rows made go wrong."""

from __future__ import annotations

import logging
from dataclasses import dataclass

_LOG = logging.getLogger("headrace.sql.processing")


@dataclass(frozen=True)
class ProcessingLog:
    """Is told what failed in a step of a query. It goes to the logger `headrace.sql.processing`."""

    query: str
    step: str

    def __call__(self, what: str, error: Exception) -> None:
        _LOG.warning("%s.%s: %s", self.query, self.step, what, exc_info=_LOG.isEnabledFor(10))
