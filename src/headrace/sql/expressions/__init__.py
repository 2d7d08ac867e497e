"""AST expressions become Python functions, once, before the first row.

    scope = Scope(("key", "value"), {ColumnReference("ID"): Slot(STRING, "key", 0), …})
    compiled = compile_expression(expression, scope)     # errors of types are raised here
    compiled.type                                        # None: an untyped NULL
    evaluate = evaluator(compiled, failed)               # evaluate(key, value) -> a value
    project = projection([compiled, …], failed)          # project(key, value) -> a row
    keep = predicate(compiled, failed)                   # keep(key, value) -> True or False

Calls of aggregate functions: `compile_aggregation`; of table functions: `compile_table_functions`.

Functions take the parameters that the scope names. What a row makes fail is told to `failed`, and
the part that failed counts as NULL (a predicate as FALSE), as in ksqlDB.
"""

from headrace.sql.expressions.aggregation import Aggregation, compile_aggregation
from headrace.sql.expressions.compiler import Compiled, compile_expression
from headrace.sql.expressions.errors import ExpressionError, GenerationError, TypingError
from headrace.sql.expressions.evaluation import Failed, evaluator, predicate, projection
from headrace.sql.expressions.scope import Scope, Slot
from headrace.sql.expressions.table_functions import TableFunctions, compile_table_functions

__all__ = [
    "Aggregation",
    "Compiled",
    "ExpressionError",
    "Failed",
    "GenerationError",
    "Scope",
    "Slot",
    "TableFunctions",
    "TypingError",
    "compile_aggregation",
    "compile_expression",
    "compile_table_functions",
    "evaluator",
    "predicate",
    "projection",
]
