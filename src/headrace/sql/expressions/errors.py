"""What can be wrong with an expression before any row is seen."""

from __future__ import annotations

from headrace.sql.errors import SqlError
from headrace.sql.syntax.ast import Node


class ExpressionError(SqlError):
    """An expression makes no sense for the columns it is used with."""

    def __init__(self, message: str, node: Node | None = None) -> None:
        super().__init__(message, None if node is None else node.position)


class TypingError(ExpressionError):
    """Types don't fit. ksqlDB says it as it stands: `Error in WHERE expression: <message>`."""


class GenerationError(ExpressionError):
    """Types fit, but there is no way to compute it. ksqlDB finds these later than the others, and
    says where: `Invalid Select: <message>`, `Invalid Predicate: <message>`."""
