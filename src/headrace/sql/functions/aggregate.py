"""Aggregate functions: what groups of rows are reduced with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.sql.types import SqlType


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function for a call: its types and literal arguments are known.

    The state is a value of SQL type `intermediate`, so that any format can store it. No function
    changes the state that it is given.
    """

    type: SqlType
    """What `result` gives."""
    intermediate: SqlType
    """What the state is."""
    initial: Callable[[], Any]
    add: Callable[..., Any]
    """`add(state, *arguments)` → state."""
    result: Callable[[Any], Any] | None = None
    """`result(state)`; None: the state is the result."""
    undo: Callable[..., Any] | None = None
    """`undo(state, *arguments)` → state: takes back what `add` did; None: only for streams."""
    merge: Callable[[Any, Any], Any] | None = None
    """`merge(state, other)` → state, for sessions that grow together."""
