"""The value of an expression, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.sql.expressions import Scope, Slot, compile_expression, evaluator
from headrace.sql.functions import FunctionRegistry, builtin_functions
from headrace.sql.syntax.ast import ColumnReference
from headrace.sql.syntax.parser import parse_expression, parse_type
from headrace.sql.types import SqlType


@dataclass
class Result:
    """What came of an expression, and what was told of failures."""

    value: Any
    type: SqlType | None
    failures: list[str] = field(default_factory=list)


def scope_of(columns: Mapping[str, str], functions: FunctionRegistry | None = None) -> Scope:
    """A scope with columns of these types, all in the parameter `row`."""
    slots = {
        ColumnReference(name): Slot(parse_type(type), "row", index)
        for index, (name, type) in enumerate(columns.items())
    }
    return Scope(("row",), slots, functions or builtin_functions())


def result_of(
    text: str,
    row: Mapping[str, tuple[str, Any]] | None = None,
    functions: FunctionRegistry | None = None,
) -> Result:
    """The result for a row, given as `name=("TYPE", value)`."""
    columns = {name: type for name, (type, _) in (row or {}).items()}
    failures: list[str] = []
    compiled = compile_expression(parse_expression(text), scope_of(columns, functions))
    evaluate = evaluator(compiled, lambda message, error: failures.append(message))
    value = evaluate(tuple(value for _, value in (row or {}).values()))
    return Result(value, compiled.type, failures)


def value_of(text: str, **row: tuple[str, Any]) -> Any:
    """The value for a row, which must not fail."""
    result = result_of(text, row)
    assert result.failures == []
    return result.value


def failure_of(text: str, **row: tuple[str, Any]) -> str:
    """What is told of an expression that fails, so that it is NULL."""
    result = result_of(text, row)
    assert result.value is None
    assert len(result.failures) == 1
    return result.failures[0]
