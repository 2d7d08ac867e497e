"""What brokers answer instead of doing what they are asked."""

from __future__ import annotations

from enum import Enum, auto


class Reason(Enum):
    FENCED = auto()
    """Another producer has the transactional id, or the coordinator gave up the transaction."""
    CONCURRENT = auto()
    """The transaction before is not written out yet: ask again."""
    UNSTABLE = auto()
    """Offsets are about to change: ask again."""
    UNKNOWN_TOPIC = auto()
    OUT_OF_RANGE = auto()
    TOO_LARGE = auto()
    METADATA_TOO_LARGE = auto()
    UNKNOWN_MEMBER = auto()


class Refused(Exception):
    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
