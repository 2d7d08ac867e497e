"""What came of a statement."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.queries import PersistentQuery


@dataclass(frozen=True)
class InsertedRow:
    """What INSERT VALUES asks to be produced. Without a timestamp: the time of producing."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int | None


@dataclass(frozen=True)
class Done:
    """A statement had its effect on the catalogue. `message` says which."""

    message: str


Outcome = PersistentQuery | InsertedRow | Done
