"""Headrace's own code, told from its users' by where the package is."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


@lru_cache(maxsize=4096)
def is_own_code(file: str) -> bool:
    """Whether this file is within the package. What else the folders on its path are called says
    nothing: whoever clones Headrace has all their code beneath one of that name."""
    return _PACKAGE in Path(file).resolve().parents
