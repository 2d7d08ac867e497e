"""Builds the topology of a query's steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.dsl import KStream, KTable, Materialized, StreamsBuilder, with_key
from headrace.sql.building.aggregating import aggregate
from headrace.sql.building.joining import join, join_on_foreign_key
from headrace.sql.building.log import ProcessingLog
from headrace.sql.building.materializing import PROJECTED, aggregate_of
from headrace.sql.building.rows import (
    RecordExtender,
    key_extender,
    need_record,
    null_row_maker,
)
from headrace.sql.building.serdes import Serdes
from headrace.sql.building.timestamps import Retimer, extractor, time_of
from headrace.sql.expressions import compile_table_functions, predicate, projection
from headrace.sql.metastore import DataSource
from headrace.sql.plan.columns import references
from headrace.sql.plan.steps import (
    AggregateStep,
    FilterStep,
    FlatMapStep,
    ForeignKeyJoinStep,
    JoinStep,
    ProjectStep,
    ReformatStep,
    RekeyStep,
    SourceStep,
    Step,
)
from headrace.sql.plan.typing import Typing
from headrace.topology.topology import Topology

Flow = KStream[Any, Any] | KTable[Any, Any]


@dataclass(frozen=True)
class QueryBuilder:
    """Builds the topology of one query."""

    query_id: str
    typing: Typing
    serdes: Serdes
    settings: Mapping[str, Any]
    builder: StreamsBuilder

    def build(self, step: ProjectStep, sink: DataSource) -> Topology:
        """The topology that runs the steps and writes to the sink."""
        flow = self._materialized(step) if step.is_table else self.flow(step)
        stream = flow.to_stream() if isinstance(flow, KTable) else flow
        if sink.timestamp is not None:
            time = time_of(sink.timestamp, sink.schema, self.log("Timestamp"))
            stream = stream.process_values(lambda: Retimer(time))
        stream.to(
            sink.topic, key=self.serdes.source_key(sink), value=self.serdes.source_value(sink)
        )
        return self.builder.build(self.settings)

    def _materialized(self, step: ProjectStep) -> Flow:
        """The table, with a store in which its rows can be looked up."""
        if aggregate_of(step) is not None:
            return self.flow(step)
        table = self.flow(step.input)
        assert isinstance(table, KTable)
        key, row = self.serdes.key(step), self.serdes.row(step.row)
        stored = Materialized(PROJECTED, key=key, value=row)
        return table.map_values(with_key(self.projection(step)), stored)

    def log(self, step: str) -> ProcessingLog:
        return ProcessingLog(self.query_id, step)

    def flow(self, step: Step) -> Flow:
        """The stream or table that comes out of a step."""
        match step:
            case SourceStep():
                return self._table(step) if step.is_table else self._stream(step)
            case FilterStep():
                return self._filtered(step)
            case FlatMapStep():
                return self._flat_mapped(step)
            case RekeyStep():
                return self._rekeyed(step)
            case ReformatStep():
                return self._reformatted(step)
            case JoinStep():
                return join(self, step)
            case ForeignKeyJoinStep():
                return join_on_foreign_key(self, step)
            case AggregateStep():
                return aggregate(self, step)
            case ProjectStep():
                return self._projected(step)
            case _:
                raise TypeError(f"There is no way to build a {type(step).__name__}")

    # Sources

    def _stream(self, step: SourceStep) -> KStream[Any, Any]:
        source = step.source.source
        time = source.timestamp and time_of(source.timestamp, source.schema, self.log(step.name))
        stream: KStream[Any, Any] = self.builder.stream(
            source.topic,
            key=self.serdes.source_key(source),
            value=self.serdes.source_value(source),
            timestamp_extractor=extractor(time) if time else None,
        )
        if not step.extras:
            return stream
        if need_record(step.extras):
            return stream.process_values(lambda: RecordExtender(source, step.extras))
        return stream.map_values(with_key(key_extender(source, step.extras)))

    def _table(self, step: SourceStep) -> KTable[Any, Any]:
        source = step.source.source
        key, row = self.serdes.key(step), self.serdes.row(step.row)
        if need_record(step.extras):
            # They are known only while the record is read, so rows are kept with them.
            stored = Materialized(f"{step.name}-Reduce", key=key, value=row)
            return self._stream(step).to_table(stored)
        time = source.timestamp and time_of(source.timestamp, source.schema, self.log(step.name))
        table: KTable[Any, Any] = self.builder.table(
            source.topic,
            key=self.serdes.source_key(source),
            value=self.serdes.source_value(source),
            timestamp_extractor=extractor(time) if time else None,
        )
        if not step.extras:
            return table
        extend = key_extender(source, step.extras)
        return table.map_values(with_key(extend), Materialized(key=key, value=row))

    # One row at a time

    def _filtered(self, step: FilterStep) -> Flow:
        flow = self.flow(step.input)
        scope = self.typing.scope(step.input.row)
        compiled = self.typing.compiled(step.condition, scope)
        log = self.log(step.name)
        if isinstance(flow, KTable):
            return flow.filter(predicate(compiled, log))
        return flow.filter(predicate(compiled, log, optional="row"))

    def _flat_mapped(self, step: FlatMapStep) -> Flow:
        flow = self.flow(step.input)
        assert isinstance(flow, KStream)
        scope = self.typing.scope(step.input.row)
        rows = compile_table_functions(step.calls, scope, self.log(step.name)).rows

        def mapped(key: Any, row: Any) -> list[Any]:
            return [] if row is None else [row + more for more in rows(key, row)]

        return flow.flat_map_values(with_key(mapped))

    def _projected(self, step: ProjectStep) -> Flow:
        if isinstance(step.input, AggregateStep):
            return aggregate(self, step.input, last=step)
        flow = self.flow(step.input)
        if isinstance(flow, KTable):
            serde = self.serdes.row(step.row)
            return flow.map_values(with_key(self.projection(step)), Materialized(value=serde))
        return flow.map_values(with_key(self.projection(step, optional="row")))

    def projection(self, step: ProjectStep, optional: str | None = None) -> Callable[..., Any]:
        """The function of a step: from key and row to a row."""
        scope = self.typing.scope(step.input.row)
        compiled = [self.typing.compiled(each, scope) for each in step.expressions]
        return projection(compiled, self.log(step.name), optional)

    def _rekeyed(self, step: RekeyStep) -> Flow:
        flow = self.flow(step.input)
        assert isinstance(flow, KStream), "planning refuses other keys for tables"
        if not step.expressions:
            return flow.select_key(lambda key, row: None)
        scope = self.typing.scope(step.input.row)
        compiled = [self.typing.compiled(each, scope) for each in step.expressions]
        evaluate = projection(compiled, self.log(step.name))
        of_key = _of_key(step, evaluate)

        def select(key: Any, row: Any) -> Any:
            new = of_key(key) if row is None else evaluate(key, row)
            return None if new == (None,) else new

        return flow.select_key(select)

    def _reformatted(self, step: ReformatStep) -> Flow:
        flow = self.flow(step.input)
        key, row = self.serdes.key(step), self.serdes.row(step.row)
        if not isinstance(flow, KTable):
            return flow.repartition(name=step.name, key=key, value=row)
        prefix, _, side = step.name.rpartition("Join-")
        name = f"{prefix}{side.capitalize()}SourceKeyed"
        stream = flow.to_stream().repartition(name=f"{name}-SelectKey", key=key, value=row)
        return stream.to_table(Materialized(f"{name}-Materialize", key=key, value=row))


def _of_key(step: RekeyStep, evaluate: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """The new key of records that have no row: what can be computed of their key alone."""
    source = step.input
    nothing = (None,) * len(step.expressions)
    if not isinstance(source, SourceStep):
        return lambda key: nothing
    names = {column.name for column in source.key}
    computable = [
        all(reference.name in names for reference in references([each]))
        for each in step.expressions
    ]
    row_of = null_row_maker(source.source.source, source.row, source.extras)

    def of_key(key: Any) -> Any:
        values = evaluate(key, row_of(key))
        return tuple(
            [value if can else None for value, can in zip(values, computable, strict=True)]
        )

    return of_key
