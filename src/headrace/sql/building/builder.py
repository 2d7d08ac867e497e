"""Builds the topology of a query's steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.dsl import KStream, KTable, Materialized, StreamsBuilder, with_key
from headrace.sql.building.aggregating import aggregate
from headrace.sql.building.joining import join, join_on_foreign_key
from headrace.sql.building.log import ProcessingLog
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
from headrace.sql.plan.steps import (
    AggregateStep,
    FilterStep,
    FlatMapStep,
    ForeignKeyJoinStep,
    JoinStep,
    ProjectStep,
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

    def build(self, step: Step, sink: DataSource) -> Topology:
        """The topology that runs the steps and writes to the sink."""
        flow = self.flow(step)
        stream = flow.to_stream() if isinstance(flow, KTable) else flow
        if sink.timestamp is not None:
            time = time_of(sink.timestamp, sink.schema, self.log("Timestamp"))
            stream = stream.process_values(lambda: Retimer(time))
        stream.to(
            sink.topic, key=self.serdes.source_key(sink), value=self.serdes.source_value(sink)
        )
        return self.builder.build(self.settings)

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
        accepts = predicate(compiled, self.log(step.name))
        if isinstance(flow, KTable):
            return flow.filter(accepts)
        return flow.filter(lambda key, row: row is not None and accepts(key, row))

    def _flat_mapped(self, step: FlatMapStep) -> Flow:
        flow = self.flow(step.input)
        assert isinstance(flow, KStream)
        scope = self.typing.scope(step.input.row)
        rows = compile_table_functions(step.calls, scope, self.log(step.name)).rows

        def mapped(key: Any, row: Any) -> list[Any]:
            return [] if row is None else [row + more for more in rows(key, row)]

        return flow.flat_map_values(with_key(mapped))

    def _projected(self, step: ProjectStep) -> Flow:
        flow = self.flow(step.input)
        scope = self.typing.scope(step.input.row)
        compiled = [self.typing.compiled(each, scope) for each in step.expressions]
        project = projection(compiled, self.log(step.name))
        if isinstance(flow, KTable):
            serde = self.serdes.row(step.row)
            return flow.map_values(with_key(project), Materialized(value=serde))
        return flow.map_values(
            with_key(lambda key, row: None if row is None else project(key, row))
        )

    def _rekeyed(self, step: RekeyStep) -> Flow:
        flow = self.flow(step.input)
        if isinstance(flow, KTable):
            return self._rekeyed_table(step, flow)
        if step.removes_key:
            return flow.select_key(lambda key, row: None)
        scope = self.typing.scope(step.input.row)
        compiled = [self.typing.compiled(each, scope) for each in step.expressions]
        evaluate = projection(compiled, self.log(step.name))
        null_row = _null_row(step.input)

        def select(key: Any, row: Any) -> Any:
            new = evaluate(key, null_row(key) if row is None else row)
            return None if new == (None,) else new

        return flow.select_key(select)

    def _rekeyed_table(self, step: RekeyStep, table: KTable[Any, Any]) -> KTable[Any, Any]:
        """The same key, but written otherwise: the table goes through a topic of its own."""
        side = "Left" if step.name.endswith("-left") else "Right"
        key, row = self.serdes.plain_key(step), self.serdes.row(step.row)
        stream = table.to_stream().repartition(
            name=f"{side}SourceKeyed-SelectKey", key=key, value=row
        )
        return stream.to_table(Materialized(f"{side}SourceKeyed-Materialize", key=key, value=row))


def _null_row(step: Step) -> Any:
    """What stands for the row of a record that has none."""
    if isinstance(step, SourceStep):
        return null_row_maker(step.source.source, step.row, step.extras)
    nothing = (None,) * len(step.row)
    return lambda key: nothing
