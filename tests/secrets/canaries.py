"""Canaries: secrets that are easily recognised, wherever they come out."""

from __future__ import annotations

import re
import uuid


class Canaries:
    """Each has its name in it. `called` says which of them are in a text."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """The one of this name, the same every time."""
        return self._made.setdefault(name, f"canary{uuid.uuid4().hex}")

    def __len__(self) -> int:
        return len(self._made)

    def called(self, text: str) -> list[str]:
        return sorted(name for name, canary in self._made.items() if canary in text)

    def without(self, text: str) -> str:
        """The text; fails if there is one in it."""
        found = self.called(text)
        assert not found, f"{found} in {self._around(text)}"
        return text

    def _around(self, text: str) -> list[str]:
        return re.findall(r".{0,80}canary[0-9a-f]{32}.{0,20}", text)
