"""What statements work with: the catalogue, topics, functions and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.sql.formats import SchemaRegistry
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.metastore import Metastore
from headrace.sql.queries import PersistentQuery
from headrace.sql.settings import Settings
from headrace.sql.topics import Topics

SERVICE_ID = "ksql.service.id"


@dataclass
class Session:
    """The state of an engine."""

    settings: Settings
    topics: Topics
    registry: SchemaRegistry | None
    registrar: SchemaRegistry | None
    """Where statements register schemas and delete them."""
    functions: FunctionRegistry
    metastore: Metastore = field(default_factory=Metastore)
    queries: dict[str, PersistentQuery] = field(default_factory=dict)
    query_count: int = 0

    def next_query_id(self, prefix: str) -> str:
        """`CSAS_OUTPUT_0`; the number is that of the query among all that there ever were."""
        return f"{prefix}_{self.query_count}"

    def start(self, query: PersistentQuery) -> None:
        """Remember a query; if there is one of its id, in its place."""
        if query.id not in self.queries:
            self.query_count += 1
        self.queries[query.id] = query

    def application_id(self, query_id: str) -> str:
        return f"_confluent-ksql-{self.settings.get(SERVICE_ID, 'default_')}query_{query_id}"

    def streams_settings(self, query_id: str) -> Mapping[str, Any]:
        """What a query runs with."""
        return {**self.settings.streams(), "application.id": self.application_id(query_id)}
