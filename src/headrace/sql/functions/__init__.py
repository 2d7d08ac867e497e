"""Functions of SQL: the built-in ones, and users' own.

`registry` has them by name and finds the overload for a call; `signature` says which arguments an
overload takes; `builtin` has ksqlDB's 149; `user` makes functions of Python functions.
"""

from headrace.sql.functions.registry import FunctionRegistry, builtin_functions
from headrace.sql.functions.user import udaf, udf, udtf, with_functions

__all__ = ["FunctionRegistry", "builtin_functions", "udaf", "udf", "udtf", "with_functions"]
