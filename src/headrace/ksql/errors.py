"""Errors as a client of the server sees them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from headrace.core.errors import HeadraceError
from headrace.ksql.entities import Entity
from headrace.sql.masking import masked_message, masked_statement


class ErrorCode(IntEnum):
    """ksqlDB's codes. The HTTP status is the code without its last two digits."""

    BAD_REQUEST = 40000
    BAD_STATEMENT = 40001
    QUERY_ENDPOINT = 40002
    MAX_PUSH_QUERIES_EXCEEDED = 40003
    HTTP2_ONLY = 40004
    INTERNAL_ONLY = 40005
    UNAUTHORIZED = 40100
    FORBIDDEN = 40300
    FORBIDDEN_KAFKA_ACCESS = 40301
    NOT_FOUND = 40400
    ASSERTION_FAILED = 41700
    SCHEMA_REGISTRY_UNCONFIGURED = 42801
    TOO_MANY_REQUESTS = 42900
    SERVER_ERROR = 50000
    COMMAND_QUEUE_CATCHUP_TIMEOUT = 50301
    SERVER_NOT_READY = 50302
    SERVER_SHUTTING_DOWN = 50303
    SERVER_SHUT_DOWN = 50304


class KsqlError(HeadraceError):
    """A request can't be answered. With a `statement` it is that statement's fault; `entities` are
    those of the statements before it, which have been executed."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        statement: str | None = None,
        entities: Sequence[Entity] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.statement = statement
        self.entities = tuple(entities)

    retry_after_s = 1
    """When to try again, if that makes sense."""

    @property
    def status(self) -> int:
        """Of HTTP."""
        if self.code is ErrorCode.MAX_PUSH_QUERIES_EXCEEDED:
            return 429  # it is a limit like others
        return self.code // 100

    def json(self) -> dict[str, Any]:
        """The body of an answer."""
        body: dict[str, Any] = {
            "@type": "generic_error" if self.statement is None else "statement_error",
            "error_code": int(self.code),
            "message": self.message,
        }
        if self.statement is not None:
            body["statementText"] = masked_statement(self.statement)
            body["message"] = masked_message(self.message, self.statement)
            body["entities"] = [entity.json() for entity in self.entities]
        return body
