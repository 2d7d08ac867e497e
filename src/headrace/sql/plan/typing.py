"""Types of expressions over rows in flight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from headrace.sql.errors import SqlError
from headrace.sql.expressions import (
    Compiled,
    GenerationError,
    Scope,
    Slot,
    TypingError,
    compile_expression,
)
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.schema import Column
from headrace.sql.syntax.ast import ColumnReference, Expression, Literal
from headrace.sql.syntax.traversal import walk
from headrace.sql.types import BOOLEAN, SqlType

T = TypeVar("T")

PARAMETERS = ("key", "row")
"""What compiled functions take, so that the DSL can call them as they are."""


@dataclass(frozen=True)
class Typing:
    """Compiles expressions, and says where they stood if they make no sense."""

    functions: FunctionRegistry
    settings: Mapping[str, Any]

    def scope(self, row: Sequence[Column]) -> Scope:
        """In which the columns of a row have their names."""
        columns = {
            ColumnReference(column.name): Slot(column.type, "row", index)
            for index, column in enumerate(row)
        }
        settings = {name: str(value) for name, value in self.settings.items()}
        return Scope(PARAMETERS, columns, self.functions, settings)

    def compiled(self, expression: Expression, scope: Scope) -> Compiled:
        """An expression that was checked before."""
        return compile_expression(expression, scope)

    def value(self, expression: Expression, row: Sequence[Column]) -> Compiled:
        """An expression of SELECT, GROUP BY and the like."""
        return _located(
            lambda: compile_expression(expression, self.scope(row)), "", "Invalid Select: "
        )

    def value_type(self, expression: Expression, row: Sequence[Column]) -> SqlType:
        """Raises SqlError if it is an untyped NULL."""
        type_ = self.value(expression, row).type
        if type_ is None:
            raise SqlError(
                "Can't infer a type of null. Please explicitly cast it to a required type, "
                "e.g. CAST(null AS VARCHAR)."
            )
        return type_

    def condition(
        self, expression: Expression, row: Sequence[Column], clause: str, shown: str
    ) -> Compiled:
        """A condition of WHERE or HAVING. `shown` is how it is called in messages."""
        prefix = f"Error in {clause} expression: "
        known = {column.name for column in row}
        for node in walk(expression):
            if isinstance(node, ColumnReference) and node.name not in known:
                raise SqlError(f"{prefix}Unknown column {node.name}.", node.position)
        compiled = _located(
            lambda: compile_expression(expression, self.scope(row)), prefix, "Invalid Predicate: "
        )
        is_null = isinstance(expression, Literal) and expression.value is None
        if compiled.type != BOOLEAN and not is_null:
            raise SqlError(
                f"Type error in {clause} expression: "
                f"Should evaluate to boolean but is {shown} ({compiled.type}) instead.",
                expression.position,
            )
        return compiled


def _located(compile_: Callable[[], T], typing: str, generation: str) -> T:
    try:
        return compile_()
    except TypingError as error:
        raise SqlError(f"{typing}{error.message}", error.position) from error
    except GenerationError as error:
        raise SqlError(f"{generation}{error.message}", error.position) from error
