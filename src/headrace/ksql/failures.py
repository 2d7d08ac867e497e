"""Errors of the inside, as those that clients see."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.core.errors import BrokerError, HeadraceError, StateError
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.sql.errors import ParseError, SqlError, StatementError
from headrace.sql.masking import masked_statement

_LOG = logging.getLogger("headrace.ksql")


@contextmanager
def statement_errors(sql: str, *, in_message: bool = False) -> Iterator[None]:
    """Have what goes wrong with a statement told as ksqlDB does. `in_message`: messages end with
    the statement, as those of queries do."""
    try:
        yield
    except KsqlError:
        raise
    except HeadraceError as error:
        raise _told(error, sql, in_message) from error
    except Exception as error:
        # What we did not think of: it is in our log, and not in the answer.
        _LOG.exception("A statement failed: %s", masked_statement(sql))
        raise KsqlError(
            ErrorCode.SERVER_ERROR,
            f"Something went wrong in the server ({type(error).__name__}). Its log has more.",
            sql,
        ) from error


def outage(error: BaseException) -> BrokerError | None:
    """What is behind an error, if it is that Kafka or the schema registry can't be reached."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BrokerError):
            return cause
        cause = cause.__cause__
    return None


def _told(error: HeadraceError, sql: str, in_message: bool) -> KsqlError:
    message = error.message if isinstance(error, SqlError) else str(error)
    if outage(error) is not None:
        return KsqlError(ErrorCode.SERVER_ERROR, message, sql)
    if isinstance(error, ParseError):
        return KsqlError(ErrorCode.BAD_STATEMENT, message, error.statement or sql)
    if isinstance(error, StatementError) and in_message:
        message = f"{message}\nStatement: {error.statement or sql}"
    if isinstance(error, SqlError):
        return KsqlError(ErrorCode.BAD_STATEMENT, message, sql)
    if isinstance(error, StateError):
        return KsqlError(ErrorCode.SERVER_NOT_READY, message, sql)
    return KsqlError(ErrorCode.SERVER_ERROR, message, sql)
