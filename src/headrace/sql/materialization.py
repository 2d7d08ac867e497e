"""Where the rows of a table can be looked up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Materialization:
    """A store of a query, and what makes rows of what it holds. It is a key-value store, a window
    store or a session store, as the keys of the table are windowed."""

    store: str
    row: Callable[[Any, Any], tuple[Any, ...] | None] = field(repr=False)
    """`row(key, stored)`: the row of the table's value columns; None if the table hasn't got it,
    as HAVING leaves it out."""
