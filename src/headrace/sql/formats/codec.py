"""What each format makes: two functions between rows and bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Codec(NamedTuple):
    """`serialize(row)` gives bytes, or None for a null that has none; `deserialize(bytes)` a row,
    or None."""

    serialize: Callable[[Any], Any]
    deserialize: Callable[[bytes], Any]
