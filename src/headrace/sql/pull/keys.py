"""Which keys a condition asks for.

The condition is looked at as alternatives of conjunctions. If each of them says what the key is
equal to, only these keys need be looked up. If one doesn't, the whole table must be read; where
that isn't allowed, the reason is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from headrace.sql.errors import SqlError
from headrace.sql.schema import Column
from headrace.sql.syntax.ast import (
    ColumnReference,
    Comparison,
    ComparisonOperator,
    Expression,
    In,
    Like,
    Literal,
    Logical,
    LogicalOperator,
    Not,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.syntax.traversal import walk
from headrace.sql.types import STRING

_MAX_ALTERNATIVES = 1_000
_RANGES = frozenset(
    (
        ComparisonOperator.LESS_THAN,
        ComparisonOperator.LESS_THAN_OR_EQUAL,
        ComparisonOperator.GREATER_THAN,
        ComparisonOperator.GREATER_THAN_OR_EQUAL,
    )
)

Evaluate = Callable[[Expression, Column], Any]
"""`evaluate(expression, column)`: the value of an expression without columns, for a key column."""


class ScanNeeded(Exception):
    """The keys aren't said. `reason` is for who doesn't allow scans; `by_range` if they are bounded
    at least."""

    def __init__(self, reason: str, *, by_range: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.by_range = by_range


@dataclass(frozen=True)
class KeyFinder:
    """Finds keys in conditions."""

    key: tuple[Column, ...]
    evaluate: Evaluate

    def find(self, condition: Expression) -> tuple[tuple[Any, ...], ...]:
        """The keys, each once, in the order of the condition. Raises ScanNeeded if they aren't
        said, SqlError if what is said can't be a key."""
        found: dict[str, tuple[Any, ...]] = {}
        for conjunction in alternatives(condition):
            key = self._key_of(conjunction)
            found.setdefault(repr(key), key)
        return tuple(found.values())

    def _key_of(self, conjunction: Sequence[Expression]) -> tuple[Any, ...]:
        values: dict[str, Any] = {}
        ranged: set[str] = set()
        for term in conjunction:
            compared = self._compared(term)
            if compared is None:
                continue
            column, operator, other = compared
            if column.name in values or column.name in ranged:
                raise ScanNeeded(
                    "A comparison condition on the key column cannot be combined with other "
                    f"comparisons such as an IN predicate: {_shown(conjunction)}"
                )
            if operator in _RANGES:
                ranged.add(column.name)
            elif operator is not ComparisonOperator.EQUAL:
                keys = ", ".join(f"{each} KEY" for each in self.key)
                raise ScanNeeded(f"Bound on key columns '[{keys}]' must currently be '='. ")
            values[column.name] = self.evaluate(other, column)
        return self._complete(values, ranged, conjunction)

    def _complete(
        self, values: dict[str, Any], ranged: set[str], conjunction: Sequence[Expression]
    ) -> tuple[Any, ...]:
        if not values:
            raise ScanNeeded(f"WHERE clause missing key column for disjunct: {_shown(conjunction)}")
        if len(values) < len(self.key):
            raise ScanNeeded(
                "Multi-column sources must specify every key in the WHERE clause. "
                f"Specified: [{', '.join(f'`{name}`' for name in values)}] "
                f"Expected: [{', '.join(f'{each} KEY' for each in self.key)}]"
            )
        if ranged:
            raise ScanNeeded("Query requires table scan to be enabled", by_range=True)
        return tuple(values[column.name] for column in self.key)

    def _compared(self, term: Expression) -> tuple[Column, ComparisonOperator, Expression] | None:
        """A comparison of a key column with something known; None if it isn't about the key."""
        if isinstance(term, Like):
            if not isinstance(term.operand, ColumnReference):
                raise ScanNeeded("Like condition must be between strings")
            return None
        names = {each.name for each in _columns(term)}
        if not isinstance(term, Comparison) or not names & {each.name for each in self.key}:
            return None
        for side, other, operator in (
            (term.left, term.right, term.operator),
            (term.right, term.left, _turned(term.operator)),
        ):
            column = self._column(side)
            if column is None:
                continue
            if any(_columns(other)):
                raise ScanNeeded(
                    "A comparison must be between a key column and a resolvable expression."
                )
            return column, operator, other
        raise ScanNeeded("A comparison must directly reference a key column.")

    def _column(self, side: Expression) -> Column | None:
        if not isinstance(side, ColumnReference):
            return None
        return next((each for each in self.key if each.name == side.name), None)


def alternatives(condition: Expression) -> list[list[Expression]]:
    """The condition as conjunctions of which one must be true. IN is one of equal comparisons."""
    match condition:
        case Logical(LogicalOperator.OR, left, right):
            return _bounded([*alternatives(left), *alternatives(right)])
        case Logical(LogicalOperator.AND, left, right):
            pairs = product(alternatives(left), alternatives(right))
            return _bounded([[*one, *other] for one, other in pairs])
        case In(operand, items):
            return [[Comparison(ComparisonOperator.EQUAL, operand, item)] for item in items]
        case Not(Logical(operator, left, right)):
            other = LogicalOperator.AND if operator is LogicalOperator.OR else LogicalOperator.OR
            return alternatives(Logical(other, Not(left), Not(right)))
        case Not(Not(operand)):
            return alternatives(operand)
        case _:
            return [[condition]]


def _bounded(found: list[list[Expression]]) -> list[list[Expression]]:
    if len(found) > _MAX_ALTERNATIVES:
        raise ScanNeeded(
            f"The WHERE clause has more than {_MAX_ALTERNATIVES} alternatives. Simplify it."
        )
    return found


def window_starts(condition: Expression) -> Iterator[tuple[ComparisonOperator, int]]:
    """Comparisons of WINDOWSTART with numbers that must hold for every row."""
    found = alternatives(condition)
    if len(found) != 1:
        return
    for term in found[0]:
        match term:
            case Comparison(operator, ColumnReference("WINDOWSTART"), Literal(int(number))):
                yield operator, number
            case Comparison(operator, Literal(int(number)), ColumnReference("WINDOWSTART")):
                yield _turned(operator), number


def _turned(operator: ComparisonOperator) -> ComparisonOperator:
    """The operator with its sides exchanged."""
    names = operator.name
    if "LESS" in names:
        return ComparisonOperator[names.replace("LESS", "GREATER")]
    if "GREATER" in names:
        return ComparisonOperator[names.replace("GREATER", "LESS")]
    return operator


def _columns(expression: Expression) -> Iterator[ColumnReference]:
    for node in walk(expression):
        if isinstance(node, ColumnReference):
            yield node


def _shown(conjunction: Sequence[Expression]) -> str:
    return " AND ".join(map(format_expression, conjunction))


def check_key_type(expression: Expression, column: Column) -> None:
    """Raise SqlError if a literal can't be a key."""
    if not isinstance(expression, Literal):
        return
    if expression.value is None:
        comparison = Comparison(ComparisonOperator.EQUAL, ColumnReference(column.name), expression)
        raise SqlError(f"Primary key columns can not be NULL: {format_expression(comparison)}")
    if (expression.type == STRING) != (column.type == STRING):
        raise SqlError(
            f"{format_expression(expression)} can not be converted to the type of the key column: "
            f"{column.name} {column.type} KEY"
        )
