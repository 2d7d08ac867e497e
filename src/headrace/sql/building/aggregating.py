"""Aggregations in the topology."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headrace import serdes
from headrace.dsl import KGroupedStream, KStream, KTable, Materialized, with_key
from headrace.dsl.aggregations import count_down, zero
from headrace.serde.serde import Serde
from headrace.sql.errors import SqlError
from headrace.sql.expressions import Aggregation, compile_aggregation, projection
from headrace.sql.plan.steps import AggregateStep, ProjectStep
from headrace.sql.syntax.ast import (
    Duration,
    HoppingWindow,
    SessionWindow,
    TumblingWindow,
    WindowExpression,
)
from headrace.topology.operators import count_up
from headrace.topology.windows import EmitStrategy, SessionWindows, TimeWindows

if TYPE_CHECKING:
    from headrace.sql.building.builder import QueryBuilder

_DAY_MS = 86_400_000


def aggregate(
    build: QueryBuilder, step: AggregateStep, last: ProjectStep | None = None
) -> KTable[Any, Any]:
    """The table of aggregates, whose rows are the key, the results, and bounds of windows; or what
    a last step makes of them."""
    aggregation = aggregation_of(build, step)
    key = build.serdes.plain_key(step)
    stored: Materialized[Any, Any] = Materialized(
        store_name(step),
        key=key,
        value=_state_serde(build, aggregation),
        retention=_retention(step.windows),
    )
    flow = build.flow(step.input)
    if isinstance(flow, KTable):
        table = _of_table(build, step, flow, aggregation, stored)
    else:
        grouped = _grouped(build, step, flow)
        table = _of_stream(step, grouped, aggregation, stored)
    rows = rows_of(step, aggregation)
    if last is None:
        return table.map_values(with_key(rows), Materialized(value=build.serdes.row(step.row)))
    project = build.projection(last)
    return table.map_values(
        with_key(lambda key, state: project(key, rows(key, state))),
        Materialized(value=build.serdes.row(last.row)),
    )


def store_name(step: AggregateStep) -> str:
    return f"{step.name}-Aggregate-Materialize"


def aggregation_of(build: QueryBuilder, step: AggregateStep) -> Aggregation:
    log = build.log(f"{step.name}-Aggregate")
    aggregation = compile_aggregation(step.calls, build.typing.scope(step.input.row), log)
    if not aggregation.counts_rows:
        return aggregation
    # Most queries do no more: the state is the number then, and who counts needs no values.
    return replace(
        aggregation,
        initial=zero,
        add=count_up,
        undo=count_down,
        merge=lambda one, other: one + other,
        results=lambda count: (count,),
    )


def _state_serde(build: QueryBuilder, aggregation: Aggregation) -> Serde[Any]:
    if aggregation.counts_rows:
        return serdes.long()
    return build.serdes.state(aggregation.intermediates)


def rows_of(step: AggregateStep, aggregation: Aggregation) -> Callable[[Any, Any], Any]:
    """Makes rows of keys and states."""
    results = aggregation.results
    if step.windows is None:
        return lambda key, state: key + results(state)
    if len(step.row) == len(step.key) + len(step.calls):
        return lambda key, state: key[0] + results(state)
    return lambda key, state: key[0] + results(state) + key[1]


def _group_selector(build: QueryBuilder, step: AggregateStep) -> Callable[[Any, Any], Any]:
    """Gives the group of a row; None if a part of it is NULL."""
    if step.keeps_key:
        return lambda key, row: key
    scope = build.typing.scope(step.input.row)
    compiled = [build.typing.compiled(each, scope) for each in step.group_by]
    evaluate = projection(compiled, build.log(f"{step.name}-GroupBy"))

    def select(key: Any, row: Any) -> Any:
        group = evaluate(key, row)
        return None if None in group else group

    return select


def _grouped(
    build: QueryBuilder, step: AggregateStep, stream: KStream[Any, Any]
) -> KGroupedStream[Any, Any]:
    key, row = build.serdes.plain_key(step), build.serdes.row(step.input.row)
    name = f"{step.name}-GroupBy"
    if step.keeps_key:
        return stream.group_by_key(key=key, value=row, name=name)
    select = _group_selector(build, step)
    return stream.filter(lambda key, row: row is not None).group_by(
        select, key=key, value=row, name=name
    )


def _of_stream(
    step: AggregateStep,
    grouped: KGroupedStream[Any, Any],
    aggregation: Aggregation,
    stored: Materialized[Any, Any],
) -> KTable[Any, Any]:
    initial, add = aggregation.initial, aggregation.add
    emit = EmitStrategy.ON_WINDOW_CLOSE if step.final else EmitStrategy.ON_WINDOW_UPDATE
    match step.windows:
        case None:
            return grouped.aggregate(initial, add, stored)
        case SessionWindow(gap=gap) as window:
            merge = aggregation.merge
            if merge is None:
                raise SqlError("A function of the statement can't be used with SESSION windows.")
            grace = _grace(step, window, gap)
            sessions = SessionWindows.of_inactivity_gap(_delta(gap), grace=grace)
            return (
                grouped.windowed_by(sessions)
                .emit_strategy(emit)
                .aggregate(initial, add, lambda key, one, other: merge(one, other), stored)
            )
        case window:
            return (
                grouped.windowed_by(_time_windows(step, window))
                .emit_strategy(emit)
                .aggregate(initial, add, stored)
            )


def _of_table(
    build: QueryBuilder,
    step: AggregateStep,
    table: KTable[Any, Any],
    aggregation: Aggregation,
    stored: Materialized[Any, Any],
) -> KTable[Any, Any]:
    undo = aggregation.undo
    assert undo is not None, "planning refuses functions that can't undo"
    select = _group_selector(build, step)
    grouped = table.group_by(
        lambda key, row: (select(key, row), row),
        key=build.serdes.plain_key(step),
        value=build.serdes.row(step.input.row),
        name=f"{step.name}-GroupBy",
    )
    return grouped.aggregate(aggregation.initial, aggregation.add, undo, stored)


def _time_windows(step: AggregateStep, window: WindowExpression) -> TimeWindows:
    match window:
        case TumblingWindow(size=size):
            return TimeWindows.of_size(_delta(size), grace=_grace(step, window, size))
        case HoppingWindow(size=size, advance=advance):
            windows = TimeWindows.of_size(_delta(size), grace=_grace(step, window, size))
            return windows.advance_by(_delta(advance))
        case _:
            raise TypeError(f"{type(window).__name__} is no time window")


def _grace(step: AggregateStep, window: WindowExpression, size: Duration) -> timedelta:
    """As given, or so that windows stay open for a day; final results don't wait for that."""
    if window.grace is not None:
        return _delta(window.grace)
    if step.final:
        return timedelta(0)
    return timedelta(milliseconds=max(_DAY_MS - size.milliseconds, 0))


def _retention(window: WindowExpression | None) -> timedelta | None:
    if window is None or window.retention is None:
        return None
    return _delta(window.retention)


def _delta(duration: Duration) -> timedelta:
    return timedelta(milliseconds=duration.milliseconds)
