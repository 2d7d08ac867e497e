"""What answers are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.ksql.cluster import Cluster
from headrace.ksql.connect import Connect
from headrace.ksql.running import QueryError, QueryState
from headrace.sql.engine import Engine


@dataclass(frozen=True)
class RunningPush:
    """A push query of a client, for lists."""

    id: str
    sql: str


@dataclass(frozen=True)
class Context:
    """The catalogue and all that is known around it, for the statement of a request."""

    engine: Engine
    cluster: Cluster
    host: str
    """`host:port` of this server."""
    state: Callable[[str], QueryState]
    errors: Callable[[str], list[QueryError]]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    pushes: Sequence[RunningPush] = ()
    connect: Connect | None = None
