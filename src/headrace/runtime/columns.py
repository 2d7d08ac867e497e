"""Records as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.core.record import Header


@dataclass(frozen=True, slots=True)
class Columns:
    """Records of one partition as columns, in the order of their offsets.

    `headers` None: no record has any.
    """

    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Sequence[Header]] | None = None
