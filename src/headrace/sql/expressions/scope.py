"""What an expression can refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.sql.functions.registry import FunctionRegistry, builtin_functions
from headrace.sql.syntax.ast import ColumnReference
from headrace.sql.types import SqlType


@dataclass(frozen=True)
class Slot:
    """Where a column's value is found: a parameter of the compiled function, or an item of it."""

    type: SqlType
    parameter: str
    index: int | None = None


@dataclass(frozen=True)
class Scope:
    """The parameters of compiled functions in order, the columns found in them, and functions.

    An item is read as it stands: a parameter with indexed slots must not be None at run time.
    """

    parameters: tuple[str, ...]
    columns: Mapping[ColumnReference, Slot]
    functions: FunctionRegistry = field(default_factory=builtin_functions)
    settings: Mapping[str, str] = field(default_factory=dict)
    """ksqlDB's settings, for functions that have some (`ksql.functions.…`)."""
