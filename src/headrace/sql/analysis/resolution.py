"""Names in expressions: which column of which source each means."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.analysis.sources import SYSTEM_NAMES, WINDOW_BOUNDS, QuerySource
from headrace.sql.errors import SqlError
from headrace.sql.named_types import resolved_type
from headrace.sql.syntax.ast import (
    Cast,
    ColumnReference,
    Expression,
    FunctionCall,
    IntervalUnit,
    SingleColumn,
)
from headrace.sql.syntax.expression_parser import UNITS
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.syntax.traversal import rewrite, walk
from headrace.sql.types import SqlType

_BOUNDS = frozenset(column.name for column in WINDOW_BOUNDS)


class Resolver:
    """Puts the source before every column's name."""

    def __init__(
        self, sources: Sequence[QuerySource], types: dict[str, SqlType], *, windowed: bool
    ) -> None:
        self._sources = sources
        self._types = types
        self.synthetic_key: str | None = None
        """What a join adds as key, if it does."""
        self._windowed = windowed
        """Whether the query aggregates by windows, so that it has bounds of windows."""

    def resolve(self, expression: Expression, clause: str) -> Expression:
        """The expression with all columns qualified. Raises SqlError if a name means nothing, or
        more than one thing."""
        for node in walk(expression):
            if isinstance(node, ColumnReference) and node.source is not None:
                self.source(node.source)

        def change(node: Expression) -> Expression | None:
            if isinstance(node, ColumnReference):
                return self._column(node, clause)
            if isinstance(node, FunctionCall):
                arguments = tuple(
                    self._unit(each) or rewrite(each, change) for each in node.arguments
                )
                return FunctionCall(node.name, arguments, position=node.position)
            if isinstance(node, Cast):
                operand = rewrite(node.operand, change)
                type_ = resolved_type(node.type, self._types)
                return Cast(operand, type_, position=node.position)
            return None

        return rewrite(expression, change)

    def _unit(self, argument: Expression) -> Expression | None:
        """`DAY` as an argument is a unit, unless it is a column."""
        if not isinstance(argument, ColumnReference) or argument.source is not None:
            return None
        unit = UNITS.get(argument.name)
        if unit is None or self._owners(argument.name):
            return None
        return IntervalUnit(unit, position=argument.position)

    def source(self, alias: str) -> QuerySource:
        """Raises SqlError if there is none of that name."""
        for source in self._sources:
            if source.alias == alias:
                return source
        raise SqlError(
            f"Failed to prepare statement: '{alias}' is not a valid stream/table name or alias."
        )

    def is_ambiguous(self, name: str) -> bool:
        return len(self._owners(name)) > 1

    def _owners(self, name: str) -> list[QuerySource]:
        return [source for source in self._sources if source.find(name) is not None]

    def _column(self, reference: ColumnReference, clause: str) -> ColumnReference:
        name, alias = reference.name, reference.source
        if alias is not None:
            if self.source(alias).find(name) is None:
                return self._bound_or_fail(reference, clause)
            return reference
        owners = self._owners(name)
        if len(owners) > 1:
            choices = " or ".join(f"{owner.alias}.{name}" for owner in owners)
            raise SqlError(
                f"Exception while preparing statement: {_where(reference)}"
                f"Column '{name}' is ambiguous. Could be {choices}.",
                reference.position,
            )
        if not owners:
            return self._bound_or_fail(reference, clause)
        return ColumnReference(name, owners[0].alias, position=reference.position)

    def _bound_or_fail(self, reference: ColumnReference, clause: str) -> ColumnReference:
        if reference.name == self.synthetic_key and reference.source is None:
            return reference
        if reference.name in _BOUNDS and self._windowed:
            if clause in ("SELECT", "WHERE"):
                return ColumnReference(reference.name, position=reference.position)
            raise SqlError(
                f"Window bounds column {reference.name} can only be used in the SELECT clause of "
                "windowed aggregations and can not be passed to aggregate functions.\n"
                "See https://github.com/confluentinc/ksql/issues/4397",
                reference.position,
            )
        shown = format_expression(reference)
        raise SqlError(
            f"{_where(reference)}{clause} column '{shown}' cannot be resolved.", reference.position
        )


def check_alias(item: SingleColumn) -> None:
    """Raise SqlError if a column is called like one that every row has."""
    if item.alias not in SYSTEM_NAMES:
        return
    same = isinstance(item.expression, ColumnReference) and item.expression.name == item.alias
    if not same:
        raise SqlError(
            f"`{item.alias}` is a reserved column name. "
            "You cannot use it as an alias for a column.",
            item.position,
        )


def _where(reference: ColumnReference) -> str:
    if reference.position is None:
        return ""
    line, column = reference.position
    return f"Line: {line}, Col: {column}: "
