"""Which store has the rows of a table, and how they are read from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.sql.building.aggregating import aggregation_of, rows_of, store_name
from headrace.sql.expressions import predicate
from headrace.sql.materialization import Materialization
from headrace.sql.metastore import DataSource
from headrace.sql.plan.steps import AggregateStep, FilterStep, ProjectStep

if TYPE_CHECKING:
    from headrace.sql.building.builder import QueryBuilder

PROJECTED = "Project"
"""The store of tables that aggregate nothing."""


def aggregate_of(step: ProjectStep) -> AggregateStep | None:
    """The aggregation whose states can be made into rows, so that these need no store."""
    source = step.input.input if isinstance(step.input, FilterStep) else step.input
    return source if isinstance(source, AggregateStep) else None


def materialization(build: QueryBuilder, step: ProjectStep, sink: DataSource) -> Materialization:
    """How the rows of a table are looked up."""
    aggregate = aggregate_of(step)
    if aggregate is None:
        return Materialization(PROJECTED, _as_in_topic(build, sink))
    rows = rows_of(aggregate, aggregation_of(build, aggregate))
    project = build.projection(step)
    accepts = _having(build, step)

    def row(key: Any, state: Any) -> Any:
        found = rows(key, state)
        return project(key, found) if accepts(key, found) else None

    return Materialization(store_name(aggregate), row)


def _as_in_topic(build: QueryBuilder, sink: DataSource) -> Callable[[Any, Any], Any]:
    """Rows as who reads the topic gets them: PROTOBUF has no NULL for most types."""
    if not sink.value_format.info.name.startswith("PROTOBUF"):
        return lambda key, row: row
    serde = build.serdes.source_value(sink)
    return lambda key, row: serde.deserialize(serde.serialize(row))


def _having(build: QueryBuilder, step: ProjectStep) -> Callable[[Any, Any], bool]:
    if not isinstance(step.input, FilterStep):
        return lambda key, row: True
    scope = build.typing.scope(step.input.input.row)
    return predicate(build.typing.compiled(step.input.condition, scope), build.log(step.name))
