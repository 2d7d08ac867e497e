"""The steps of a query: what is done with records, one after another.

Records in flight have the row of their key columns as key (in a Windowed, if keys are windowed),
and a row of value columns. Expressions name only columns of that row: what they need of the key, of
headers, and of the record itself is put behind the value's own columns by the first step.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.analysis.sources import QuerySource
from headrace.sql.formats import FormatInfo
from headrace.sql.metastore import WindowInfo
from headrace.sql.schema import Column
from headrace.sql.syntax.ast import (
    Expression,
    FunctionCall,
    JoinKind,
    WindowExpression,
    Within,
)


@dataclass(frozen=True, kw_only=True)
class Step:
    """What comes out of it: columns of the key and of the row, by the names that expressions
    have for them, and how keys are written in topics in between."""

    key: tuple[Column, ...]
    row: tuple[Column, ...]
    is_table: bool
    key_format: FormatInfo
    window: WindowInfo | None = None
    name: str
    """What stores and topics of this step are called."""


@dataclass(frozen=True, kw_only=True)
class SourceStep(Step):
    """Reads a topic. `extras` are what follows the value in the row."""

    source: QuerySource
    extras: tuple[Column, ...]


@dataclass(frozen=True, kw_only=True)
class FilterStep(Step):
    """Keeps rows for which a condition is true."""

    input: Step
    condition: Expression


@dataclass(frozen=True, kw_only=True)
class FlatMapStep(Step):
    """Makes rows of a row by table functions, whose values it puts behind it."""

    input: Step
    calls: tuple[FunctionCall, ...]


@dataclass(frozen=True, kw_only=True)
class RekeyStep(Step):
    """Gives records of a stream another key; without expressions, none."""

    input: Step
    expressions: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class ReformatStep(Step):
    """Sends records through a topic in which their keys are written in another format."""

    input: Step


@dataclass(frozen=True, kw_only=True)
class JoinStep(Step):
    """Joins by key. The row is the left one, then the right one, then the key if `adds_key`."""

    kind: JoinKind
    left: Step
    right: Step
    within: Within | None
    adds_key: bool


@dataclass(frozen=True, kw_only=True)
class ForeignKeyJoinStep(Step):
    """Joins rows of a table with those of another that an expression finds."""

    kind: JoinKind
    left: Step
    right: Step
    expression: Expression


@dataclass(frozen=True, kw_only=True)
class AggregateStep(Step):
    """Aggregates by groups. The row is the key, then the aggregates, then the bounds of windows."""

    input: Step
    group_by: tuple[Expression, ...]
    keeps_key: bool
    """The groups are those of the key that records have already."""
    calls: tuple[FunctionCall, ...]
    windows: WindowExpression | None
    final: bool
    """Only final results come out."""


@dataclass(frozen=True, kw_only=True)
class ProjectStep(Step):
    """Makes rows of expressions."""

    input: Step
    expressions: tuple[Expression, ...]
