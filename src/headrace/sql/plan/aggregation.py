"""GROUP BY: which aggregates a query has, and what it says besides them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from headrace.sql.analysis.query import ResolvedQuery
from headrace.sql.analysis.sources import WINDOW_BOUNDS
from headrace.sql.errors import SqlError
from headrace.sql.functions.function import Kind
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.plan.columns import Columns
from headrace.sql.plan.keys import KeyPart
from headrace.sql.plan.selection import Selected
from headrace.sql.syntax.ast import ColumnReference, Expression, FunctionCall
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.syntax.traversal import rewrite, walk

_BOUNDS = frozenset(column.name for column in WINDOW_BOUNDS)


def calls_of(
    expressions: Iterable[Expression], functions: FunctionRegistry, kind: Kind
) -> Iterator[FunctionCall]:
    """All calls of functions of a kind in expressions."""
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, FunctionCall) and functions.kind(node.name) is kind:
                yield node


def check_functions(expressions: Iterable[Expression], functions: FunctionRegistry) -> None:
    """Raise SqlError if a function doesn't exist."""
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, FunctionCall) and functions.kind(node.name) is None:
                raise SqlError(
                    f"Can't find any functions with the name '{node.name}'", node.position
                )


def is_aggregation(
    query: ResolvedQuery,
    selected: Sequence[Selected],
    functions: FunctionRegistry,
    *,
    groups_needed: bool = True,
) -> bool:
    """Whether a query aggregates. Raises SqlError if it does so in a way that makes no sense; if
    `groups_needed`, also without GROUP BY."""
    expressions = [item.expression for item in selected]
    if query.having is not None:
        expressions.append(query.having)
    for call in calls_of(query.group_by, functions, Kind.AGGREGATE):
        raise SqlError(
            f"GROUP BY does not support aggregate functions: {call.name} is an aggregate function.",
            call.position,
        )
    if query.where is not None:
        for call in calls_of([query.where], functions, Kind.AGGREGATE):
            if not query.group_by:
                raise SqlError(
                    "Aggregate functions are not allowed in the WHERE clause: "
                    f"{format_expression(call)}. Use HAVING."
                )
    calls = list(calls_of(expressions, functions, Kind.AGGREGATE))
    for call in calls:
        for _ in calls_of(call.arguments, functions, Kind.AGGREGATE):
            raise SqlError(
                f"Aggregate functions can not be nested: {format_expression(call)}", call.position
            )
    if query.group_by:
        if not calls:
            raise SqlError(
                "GROUP BY requires aggregate functions in either the SELECT or HAVING clause."
            )
        return True
    if calls and groups_needed:
        raise SqlError(_without_groups(selected, calls))
    return bool(calls)


def _without_groups(selected: Sequence[Selected], calls: list[FunctionCall]) -> str:
    plain = [
        format_expression(_unqualified(item.expression))
        for item in selected
        if not any(call in list(walk(item.expression)) for call in calls)
    ]
    if plain:
        return not_grouped(plain)
    shown = ", ".join(format_expression(_with_argument(call)) for call in calls)
    return (
        "CREATE TABLE AS SELECT statement does not support aggregate function "
        f"[{shown}] without a GROUP BY clause."
    )


def _with_argument(call: FunctionCall) -> FunctionCall:
    arguments = call.arguments or (ColumnReference("ROWTIME"),)
    return FunctionCall(call.name, tuple(map(_unqualified, arguments)))


def not_grouped(shown: Sequence[str]) -> str:
    return (
        f"Non-aggregate SELECT expression(s) not part of GROUP BY: {', '.join(shown)}\n"
        "Either add the column(s) to the GROUP BY or remove them from the SELECT."
    )


def _unqualified(expression: Expression) -> Expression:
    def change(node: Expression) -> Expression | None:
        return ColumnReference(node.name) if isinstance(node, ColumnReference) else None

    return rewrite(expression, change)


def aggregate_name(index: int) -> str:
    """What an aggregate is called in rows."""
    return f"KSQL_AGG_VARIABLE_{index}"


@dataclass
class Grouped:
    """Rewrites expressions of an aggregation to what an aggregated row has: the columns it is
    grouped by, aggregates, and bounds of windows."""

    key: tuple[KeyPart, ...]
    columns: Columns
    functions: FunctionRegistry
    calls: list[FunctionCall] = field(default_factory=list)
    """The aggregates; in their arguments, columns have their sources."""

    def rewrite(self, expression: Expression) -> Expression:
        def change(node: Expression) -> Expression | None:
            for part in self.key:
                if node in part.expressions:
                    return ColumnReference(part.name)
            if isinstance(node, FunctionCall) and self._is_aggregate(node):
                if node not in self.calls:
                    self.calls.append(node)
                return ColumnReference(aggregate_name(self.calls.index(node)))
            return None

        return rewrite(expression, change)

    def select(self, selected: Sequence[Selected]) -> list[Expression]:
        """Raises SqlError for columns that aren't grouped by."""
        rewritten = [self.rewrite(item.expression) for item in selected]
        wrong = [
            format_expression(self.columns.internal(item.expression))
            for item, new in zip(selected, rewritten, strict=True)
            if list(self._strangers(new))
        ]
        if wrong:
            raise SqlError(not_grouped(wrong))
        return rewritten

    def having(self, condition: Expression) -> Expression:
        rewritten = self.rewrite(condition)
        wrong = [each.name for each in self._strangers(rewritten)]
        if wrong:
            raise SqlError(
                f"Non-aggregate HAVING expression not part of GROUP BY: {', '.join(wrong)}"
            )
        return rewritten

    def shown(self, message: str) -> str:
        """A message with aggregates as they were written."""
        for index, call in reversed(list(enumerate(self.calls))):
            text = format_expression(self.columns.internal(call))
            message = message.replace(aggregate_name(index), text)
        return message

    def _is_aggregate(self, call: FunctionCall) -> bool:
        return self.functions.kind(call.name) is Kind.AGGREGATE

    def _strangers(self, expression: Expression) -> Iterator[ColumnReference]:
        for node in walk(expression):
            if isinstance(node, ColumnReference) and node.source is not None:
                yield node


def bounds_used(expressions: Iterable[Expression]) -> bool:
    """Whether expressions name a bound of a window."""
    return any(
        isinstance(node, ColumnReference) and node.name in _BOUNDS and node.source is None
        for expression in expressions
        for node in walk(expression)
    )
