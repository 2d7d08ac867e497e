"""What statements work with: the catalogue, topics, functions and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.sql.formats import SchemaRegistry
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.metastore import Metastore
from headrace.sql.queries import PersistentQuery
from headrace.sql.topics import Topics

SERVICE_ID = "ksql.service.id"
_STREAMS_PREFIX = "ksql.streams."


@dataclass
class Session:
    """The state of an engine."""

    settings: dict[str, Any]
    topics: Topics
    registry: SchemaRegistry | None
    functions: FunctionRegistry
    metastore: Metastore = field(default_factory=Metastore)
    queries: dict[str, PersistentQuery] = field(default_factory=dict)
    query_count: int = 0

    def new_query_id(self, prefix: str) -> str:
        """`CSAS_OUTPUT_0`; the number is that of the query among all that there ever were."""
        query_id = f"{prefix}_{self.query_count}"
        self.query_count += 1
        return query_id

    def application_id(self, query_id: str) -> str:
        return f"_confluent-ksql-{self.settings.get(SERVICE_ID, 'default_')}query_{query_id}"

    def streams_settings(self, query_id: str) -> Mapping[str, Any]:
        """What a query runs with: settings that are Kafka Streams', with or without ksqlDB's
        prefix."""
        settings = {
            name: value
            for name, value in self.settings.items()
            if not name.startswith("ksql.") and name in _STREAMS_SETTINGS
        }
        for name, value in self.settings.items():
            if name.startswith(_STREAMS_PREFIX):
                settings[name.removeprefix(_STREAMS_PREFIX)] = value
        settings.pop("default.timestamp.extractor", None)
        fail = str(self.settings.get("ksql.fail.on.deserialization.error", "false")).lower()
        handler = "log_and_fail" if fail == "true" else "log_and_continue"
        settings.setdefault("deserialization.exception.handler", handler)
        settings["application.id"] = self.application_id(query_id)
        return settings


_STREAMS_SETTINGS = frozenset(
    (
        "auto.offset.reset",
        "cache.max.bytes.buffering",
        "commit.interval.ms",
        "num.stream.threads",
        "processing.guarantee",
        "topology.optimization",
    )
)
