"""A function of SQL: its overloads, and what makes a call of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.signature import Signature
from headrace.sql.types import SqlType


class Kind(Enum):
    """What a function does with rows. The values are what SHOW FUNCTIONS prints."""

    SCALAR = "SCALAR"
    """A value for a row."""
    AGGREGATE = "AGGREGATE"
    """A value for a group of rows."""
    TABLE = "TABLE"
    """Rows for a row."""


@dataclass(frozen=True)
class Call:
    """What is known of a call before the first row."""

    types: tuple[SqlType | None, ...]
    """The types of the arguments as they will come, after casts."""
    returns: SqlType | None
    """The result's type; None: as unknown as that of NULL."""
    literals: tuple[Any, ...] = ()
    """The values of arguments that must be constants (of aggregates), in order."""
    settings: Mapping[str, str] = field(default_factory=dict)


Returns = Callable[[Sequence[SqlType | None]], SqlType | None]
"""From the arguments' types to the result's, where a signature can't say it."""


@dataclass(frozen=True)
class Overload:
    """One way to call a function."""

    signature: Signature
    implementation: Callable[..., Any]
    """A scalar function; a table function gives an iterable of values. If `bound`, and for all
    aggregates, it is a factory, called with the `Call` and giving the function."""
    strict: bool = True
    """A NULL argument makes the result NULL, without a call."""
    bound: bool = False
    returns: Returns | None = None

    def function(self, call: Call) -> Callable[..., Any]:
        """The function of Python for a call."""
        if not self.bound:
            return self.implementation
        made: Callable[..., Any] = self.implementation(call)
        return made

    def aggregate(self, call: Call) -> Aggregate:
        made = self.implementation(call)
        assert isinstance(made, Aggregate)
        return made


@dataclass(frozen=True)
class Function:
    """A name with its overloads."""

    name: str
    """As messages show it."""
    kind: Kind
    category: str
    description: str
    overloads: tuple[Overload, ...]
    author: str = ""
    version: str = ""
