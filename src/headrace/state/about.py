"""What the state of a task says of itself: one record, with a checksum."""

from __future__ import annotations

from binascii import crc32
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from headrace.state.boot import NEVER, Moment
from headrace.state.checkpoint import Checkpoint
from headrace.state.data_file import DamagedError

FORMAT = 2

Facts = Mapping[str, Mapping[str, int]]
"""By store, and then by name."""


@dataclass(frozen=True, slots=True)
class About:
    """`maps` has the number of each map's databases; names are too long for LMDB, and the numbers
    of maps that were dropped are used again, so that no process has to open new ones for ever.
    `odd` are the numbers that have a database for keys LMDB can't take as they are. `written` is
    when it was committed."""

    identity: str
    maps: Mapping[str, int] = field(default_factory=dict)
    odd: frozenset[int] = frozenset()
    facts: Facts = field(default_factory=dict)
    checkpoint: Checkpoint | None = None
    written: Moment = NEVER

    def to_bytes(self) -> bytes:
        checkpoint = self.checkpoint
        text = orjson.dumps(
            {
                "format": FORMAT,
                "identity": self.identity,
                "maps": self.maps,
                "odd": sorted(self.odd),
                "facts": self.facts,
                "checkpoint": None if checkpoint is None else checkpoint.to_json(),
                "written": list(self.written),
            }
        )
        return crc32(text).to_bytes(4, "big") + text

    @classmethod
    def from_bytes(cls, data: bytes) -> About:
        text = data[4:]
        if crc32(text) != int.from_bytes(data[:4], "big"):
            raise DamagedError("its checksum is wrong")
        try:
            return cls._from_json(orjson.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedError(f"what it says of itself can't be read: {error!r}") from error

    @classmethod
    def _from_json(cls, form: Mapping[str, Any]) -> About:
        if form["format"] != FORMAT:
            raise DamagedError(f"it has format {form['format']}, and not {FORMAT}")
        checkpoint = form["checkpoint"]
        return cls(
            form["identity"],
            form["maps"],
            frozenset(form["odd"]),
            form["facts"],
            None if checkpoint is None else Checkpoint.from_json(checkpoint),
            Moment(*form["written"]),
        )
