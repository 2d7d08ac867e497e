"""Persistent queries: what CREATE … AS SELECT and INSERT INTO … SELECT start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from headrace.sql.materialization import Materialization
from headrace.sql.plan.description import describe
from headrace.sql.plan.steps import Step
from headrace.topology.topology import Topology


class QueryKind(Enum):
    """What started a query."""

    CREATE_AS = "CREATE_AS"
    INSERT = "INSERT"
    CREATE_SOURCE = "CREATE_SOURCE"


@dataclass(frozen=True)
class PersistentQuery:
    """A query that runs until it is terminated."""

    id: str
    kind: QueryKind
    sql: str
    sources: tuple[str, ...]
    """Names of the streams and tables it reads, from left to right."""
    source_topics: tuple[str, ...]
    sink: str | None
    """The stream or table it writes; a source table has none."""
    sink_topic: str | None
    topology: Topology = field(repr=False)
    application_id: str
    settings: Mapping[str, Any]
    """Settings for running the topology, as Kafka Streams names them."""
    materialization: Materialization | None = field(default=None, repr=False)
    """Where rows of the table can be looked up, if it makes one."""
    step: Step | None = field(default=None, repr=False)
    """The last of its steps, which has the others in it; a source table has none."""

    @property
    def plan(self) -> str:
        """Its steps, as EXPLAIN shows them."""
        return "" if self.step is None else describe(self.step, self.id)
