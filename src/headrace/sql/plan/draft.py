"""A plan in the making: what all kinds of queries need on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from headrace.sql.analysis.query import ResolvedQuery
from headrace.sql.analysis.sources import QuerySource
from headrace.sql.errors import SqlError
from headrace.sql.formats import FormatInfo
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.metastore import WindowInfo
from headrace.sql.plan.columns import Columns, references
from headrace.sql.plan.joining import JoinPlanner
from headrace.sql.plan.keys import KeyPart
from headrace.sql.plan.projection import Projection
from headrace.sql.plan.steps import FilterStep, ProjectStep, SourceStep, Step
from headrace.sql.plan.typing import Typing
from headrace.sql.schema import Column, Schema
from headrace.sql.syntax.ast import ColumnReference, Expression
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.topics import Topics

E = TypeVar("E", bound=Expression)

KEY_FORMAT_BY_DEFAULT = "ksql.persistence.default.format.key"


@dataclass(frozen=True)
class PlannedQuery:
    """A query's steps, and the columns of its result."""

    step: ProjectStep
    schema: Schema

    @property
    def window(self) -> WindowInfo | None:
        return self.step.window


@dataclass
class Draft:
    """A query, and what is known of its plan so far."""

    query: ResolvedQuery
    functions: FunctionRegistry
    settings: Mapping[str, Any]
    topics: Topics
    key_format: FormatInfo | None
    """What a changed key is to be written in, if that is said."""
    used: set[ColumnReference] = field(default_factory=set)
    """The columns that rows must have."""

    def __post_init__(self) -> None:
        self.typing = Typing(self.functions, self.settings)
        self.columns = Columns(self.query)

    def internal(self, expression: E) -> E:
        """An expression that names columns as rows in flight do."""
        return self.columns.internal(expression)

    def use(self, expressions: Iterable[Expression]) -> None:
        """Have rows carry the columns that expressions name."""
        self.used.update(references(expressions))

    # Steps

    def relation(self) -> Step:
        """Reads and joins the sources."""
        joins = JoinPlanner(
            self.columns, self.typing, self.topics, self.default_key_format, self._read
        )
        return joins.plan(self.query.relation)

    def filtered(self, step: Step) -> Step:
        """WHERE."""
        where = self.query.where
        if where is None:
            return step
        internal = self.internal(where)
        self.typing.condition(internal, step.row, "WHERE", format_expression(internal))
        return FilterStep(input=step, condition=internal, **like(step, name="WhereFilter"))

    def pruned(self, step: Step, expressions: Iterable[Expression]) -> Step:
        """Only the columns that are needed from here on, before they go through a topic."""
        used = {self.internal(each).name for each in references(expressions)}
        row = tuple(column for column in step.row if column.name in used)
        if len(row) == len(step.row) or not row:
            return step
        columns = tuple(ColumnReference(column.name) for column in row)
        return ProjectStep(input=step, expressions=columns, **like(step, row=row, name="Prepare"))

    def projected(
        self, step: Step, projection: Projection, expressions: Sequence[Expression]
    ) -> PlannedQuery:
        """The last step."""
        columns = tuple(
            Column(item.alias, self.typing.value_type(expression, step.row))
            for item, expression in zip(projection.values, expressions, strict=True)
        )
        key = step.key
        shown_key: tuple[Column, ...] = ()
        if projection.key is not None:
            key = shown_key = tuple(
                Column(name, column.type)
                for name, column in zip(projection.key, step.key, strict=True)
            )
        _check_duplicates(shown_key, "key", set())
        _check_duplicates(columns, "value", {column.name for column in shown_key})
        last = ProjectStep(
            input=step,
            expressions=tuple(expressions),
            **like(step, key=key, row=columns, name="Project"),
        )
        return PlannedQuery(last, Schema(shown_key, columns))

    def _read(self, source: QuerySource, name: str) -> Step:
        step = self._source_step(source, name)
        if self.query.is_join and not step.is_table:
            return self.pruned(step, self.used)  # rows of joined streams are kept for a while
        return step

    def _source_step(self, source: QuerySource, name: str) -> SourceStep:
        used = {each.name for each in self.used if each.source == source.alias}
        extras = tuple(column for column in source.extra_columns() if column.name in used)
        return SourceStep(
            source=source,
            extras=extras,
            key=self.columns.of(source, source.source.schema.key),
            row=self.columns.of(source, (*source.source.schema.value, *extras)),
            is_table=source.source.is_table,
            key_format=source.source.key_format.info,
            window=source.source.window,
            name=name,
        )

    # Keys

    def key_columns(
        self, key: tuple[KeyPart, ...], expressions: Sequence[Expression], step: Step
    ) -> tuple[Column, ...]:
        """The columns of a key of expressions."""
        return tuple(
            Column(part.name, self.typing.value_type(expression, step.row))
            for part, expression in zip(key, expressions, strict=True)
        )

    @property
    def default_key_format(self) -> str:
        return str(self.settings.get(KEY_FORMAT_BY_DEFAULT, "KAFKA")).upper()

    def changed_key_format(self, step: Step) -> FormatInfo:
        """A new key is written as the sink wants it, or as the old one was."""
        if self.key_format is not None:
            return self.key_format
        if step.key_format.name == "NONE":
            return FormatInfo(self.default_key_format)
        return step.key_format


def like(step: Step, **changes: Any) -> dict[str, Any]:
    """What comes out of a step that is like another, but for some changes."""
    same = {
        "key": step.key,
        "row": step.row,
        "is_table": step.is_table,
        "key_format": step.key_format,
        "window": step.window,
    }
    return {**same, **changes}


def ignore(what: str, error: Exception) -> None:
    """Planning compiles, but evaluates nothing, so that nothing can fail."""


def _check_duplicates(columns: tuple[Column, ...], kind: str, seen: set[str]) -> None:
    for column in columns:
        if column.name in seen:
            raise SqlError(f"Duplicate {kind} columns found in schema: {column}")
        seen.add(column.name)
