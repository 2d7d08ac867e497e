"""What must hold of any text that is taken for SQL."""

from __future__ import annotations

import time
from random import Random

from headrace.sql.engine import Engine
from headrace.sql.errors import ParseError, StatementError
from headrace.sql.syntax import ast
from headrace.sql.syntax.parser import ParsedStatement, parse, parse_one
from headrace.sql.syntax.statement_formatter import format_statement
from headrace.sql.types import STRING

from ..plan.engines import engine_with
from .grammar import Grammar

LONGEST = 1.0
"""Seconds that any text may take."""


def fuzz(seed: int, count: int) -> list[str]:
    """Try random statements; tells what went wrong with which."""
    random = Random(seed)
    grammar = Grammar(random)
    wrong = []
    for _ in range(count):
        text = grammar.statement()
        started = time.process_time()
        problem = _try(text) or _inject(grammar.injection())
        if problem is None and time.process_time() - started > LONGEST:
            problem = "it takes too long"
        if problem is not None:
            wrong.append(f"{problem}: {text[:500]!r}")
    return wrong


def _try(text: str) -> str | None:
    try:
        parsed = parse(text)
    except ParseError as error:
        return None if error.message else "the error says nothing"
    except Exception as error:
        return f"parsing raises {error!r}"
    for each in parsed:
        if parse_one(format_statement(each.statement)) != each.statement:
            return f"its text says something else: {format_statement(each.statement)}"
    return _execute(engine_with(), parsed)


def _execute(engine: Engine, parsed: list[ParsedStatement]) -> str | None:
    for each in parsed:
        try:
            if isinstance(each.statement, ast.QueryStatement):
                if each.statement.query.emit is None:
                    engine.pull(each)
                else:
                    engine.push(each, "q").topology(lambda row, deleted: None)
            else:
                engine.execute(each)
        except StatementError as error:
            if not error.message:
                return "the error says nothing"
        except Exception as error:
            return f"executing raises {error!r}"
    return None


def _inject(value: str) -> str | None:
    """Whatever a variable has for value, the statement keeps its shape."""
    try:
        parsed = parse("SELECT ${x}, '${x}' FROM clicks;", {"x": value})
    except ParseError:
        return None
    except Exception as error:
        return f"the variable {value!r} raises {error!r}"
    (only,) = parsed
    statement = only.statement
    assert isinstance(statement, ast.QueryStatement)
    first, second = statement.query.select
    assert isinstance(first, ast.SingleColumn)
    harmless = isinstance(first.expression, ast.Literal | ast.ColumnReference)
    same = second == ast.SingleColumn(ast.Literal(value, STRING))
    return None if harmless and same else f"the variable {value!r} is more than a value"
