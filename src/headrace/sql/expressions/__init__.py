"""AST expressions become Python functions, once, before the first row.

    scope = Scope(("key", "value"), {ColumnReference("ID"): Slot(STRING, "key", 0), …})
    compiled = compile_expression(expression, scope)     # errors of types are raised here
    compiled.type                                        # None: an untyped NULL
    evaluate = evaluator(compiled, failed)               # evaluate(key, value) -> a value
    project = projection([compiled, …], failed)          # project(key, value) -> a row
    keep = predicate(compiled, failed)                   # keep(key, value) -> True or False

Functions take the parameters that the scope names. What a row makes fail is told to `failed`, and
the part that failed counts as NULL (a predicate as FALSE), as in ksqlDB.

Aggregates: `aggregation([call, …], scope, failed)`. Table functions: `table_functions(…)`.
"""

from headrace.sql.expressions.errors import ExpressionError, GenerationError, TypingError
from headrace.sql.expressions.scope import Scope, Slot

__all__ = [
    "ExpressionError",
    "GenerationError",
    "Scope",
    "Slot",
    "TypingError",
]
