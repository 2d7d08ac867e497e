"""How much is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class RecordingLevel(IntEnum):
    """The setting `metrics.recording.level`; each level records what those before it do, too."""

    INFO = 0
    DEBUG = 1
    TRACE = 2

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> RecordingLevel:
        """The level that a configuration asks for."""
        return cls[config["metrics.recording.level"]]
