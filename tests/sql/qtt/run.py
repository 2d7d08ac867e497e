"""Runs a case, and says what is wrong with what came of it."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import StreamsError
from headrace.sql.errors import ParseError, SqlError, StatementError
from headrace.sql.syntax.parser import parse
from headrace.testing.sql import Rehearsal

from .cases import Case
from .functions import functions
from .post import check_post
from .topics import prepare


class WrongCase(Exception):
    """The case didn't come to what it is about."""


def run(case: Case) -> str | None:
    """Why the case fails, or None if it passes."""
    rehearsal = Rehearsal(case.properties, functions=functions())
    try:
        _execute(case, rehearsal)
        rehearsal.feed(case.inputs)
    except WrongCase as error:
        return str(error)
    except (SqlError, StreamsError) as error:
        if case.expected_exception is None:
            return f"{type(error).__name__}: {error}"
        return _exception_difference(case.expected_exception, error)
    except Exception as error:
        return f"{type(error).__name__}: {error} ({_place(error)})"
    if case.expected_exception is not None:
        return f"no error, but expected: {case.expected_exception.get('message')}"
    try:
        found = rehearsal.differences(case.outputs, any_time_for_zero=not case.inputs)
        return "\n".join(found + check_post(case.post, rehearsal)) or None
    except Exception as error:
        return f"while comparing: {type(error).__name__}: {error} ({_place(error)})"


def _execute(case: Case, rehearsal: Rehearsal) -> None:
    """Parse all statements, then execute one by one."""
    parsed = parse("\n".join(case.statements))
    prepare(case, [part.statement for part in parsed], rehearsal)
    for index, statement in enumerate(parsed):
        try:
            rehearsal.execute(statement)
        except SqlError as error:
            if index < len(parsed) - 1:
                raise WrongCase(f"statement {index + 1} failed: {error}") from error
            raise
    if not rehearsal.queries and case.expected_exception is None:
        raise WrongCase("no statement started a query")


_TYPES: dict[str, type[Exception]] = {
    "KsqlException": SqlError,
    "KsqlStatementException": StatementError,
    "ParseFailedException": ParseError,
    "StreamsException": StreamsError,
}


def _exception_difference(expected: dict[str, Any], error: Exception) -> str | None:
    kind = _TYPES[expected["type"].rpartition(".")[2]]
    if not isinstance(error, kind):
        return f"the error is {type(error).__name__}, not {kind.__name__}: {error}"
    message = expected.get("message")
    if message is None:
        return None
    texts = [getattr(error, "message", str(error))]
    if isinstance(error, StatementError):
        texts.append(f"{error.message}\nStatement: {error.statement}")
    if any(message in text for text in texts):
        return None
    return f"the message is {texts[0]!r}, not {message!r}"


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    place = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} in {code.co_name}"
        trace = trace.tb_next
    return place
