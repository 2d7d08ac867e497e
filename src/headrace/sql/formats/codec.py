"""What each format makes: two functions between rows and bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Codec(NamedTuple):
    """`serialize(row)` gives bytes, or None for a null that has none; `deserialize(bytes)` a row,
    or None; `check(bytes)` does the same where nobody looks at rows."""

    serialize: Callable[[Any], Any]
    deserialize: Callable[[bytes], Any]
    check: Callable[[bytes], Any] | None = None
