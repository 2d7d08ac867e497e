"""The engine: executes statements one after another, and keeps what they made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.sql.formats import SchemaRegistry
from headrace.sql.functions.registry import FunctionRegistry, builtin_functions
from headrace.sql.metastore import Metastore
from headrace.sql.queries import PersistentQuery
from headrace.sql.syntax.parser import ParsedStatement
from headrace.sql.topics import InMemoryTopics, Topics


@dataclass(frozen=True)
class InsertedRow:
    """What INSERT VALUES asks to be produced. Without a timestamp: the time of producing."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int | None


@dataclass(frozen=True)
class Done:
    """A statement had its effect on the catalogue. `message` says which."""

    message: str


Outcome = PersistentQuery | InsertedRow | Done


class Engine:
    """Streams, tables, types and persistent queries, and the statements that make them.

    `settings` are ksqlDB's (`ksql.service.id` …) and Kafka Streams'; SET changes them for the
    statements that follow.

    Parse all of a text first (`syntax.parser.parse`), then execute statement by statement. What a
    persistent query needs to run is in the PersistentQuery; the engine runs nothing itself.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        topics: Topics | None = None,
        registry: SchemaRegistry | None = None,
        functions: FunctionRegistry | None = None,
    ) -> None:
        self.settings: dict[str, Any] = dict(settings or {})
        self.topics = topics if topics is not None else InMemoryTopics()
        self.registry = registry
        self.functions = functions or builtin_functions()
        self.metastore = Metastore()
        self.queries: dict[str, PersistentQuery] = {}

    def execute(self, parsed: ParsedStatement) -> Outcome:
        """Execute a statement. Raises SqlError if that can't be done; then nothing has changed."""
        raise NotImplementedError
