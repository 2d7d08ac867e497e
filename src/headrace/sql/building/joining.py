"""Joins in the topology."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headrace.dsl import KStream, KTable, Materialized, with_key
from headrace.sql.building.rows import joiner
from headrace.sql.expressions import projection
from headrace.sql.plan.steps import ForeignKeyJoinStep, JoinStep
from headrace.sql.syntax.ast import Duration, JoinKind, Within
from headrace.topology.windows import JoinWindows

if TYPE_CHECKING:
    from headrace.sql.building.builder import QueryBuilder

Joiner = Callable[..., Any]


def join(build: QueryBuilder, step: JoinStep) -> KStream[Any, Any] | KTable[Any, Any]:
    """Joins by key. A right join is a left join the other way round."""
    left, right = build.flow(step.left), build.flow(step.right)
    rows = joiner(len(step.left.row), len(step.right.row))
    if isinstance(left, KTable):
        assert isinstance(right, KTable)
        return _join_tables(build, step, left, right, rows)
    if isinstance(right, KTable):
        return _join_table(build, step, left, right, rows)
    return _join_streams(build, step, left, right, rows)


def _join_streams(
    build: QueryBuilder,
    step: JoinStep,
    left: KStream[Any, Any],
    right: KStream[Any, Any],
    rows: Joiner,
) -> KStream[Any, Any]:
    assert step.within is not None, "planning refuses joins of streams without a window"
    serdes = build.serdes
    options: dict[str, Any] = {
        "key": serdes.key(step),
        "value": serdes.row(step.left.row),
        "other_value": serdes.row(step.right.row),
        "name": step.name,
    }
    windows = _windows(step.within)
    match step.kind:
        case JoinKind.INNER:
            return left.join(right, _joining(step, rows), windows, **options)
        case JoinKind.LEFT:
            return left.left_join(right, _joining(step, rows), windows, **options)
        case JoinKind.OUTER:
            return left.outer_join(right, _joining(step, rows), windows, **options)
        case JoinKind.RIGHT:
            options |= {"value": options["other_value"], "other_value": options["value"]}
            swapped = replace(windows, before_ms=windows.after_ms, after_ms=windows.before_ms)
            return right.left_join(left, _joining(step, _swapped(rows)), swapped, **options)


def _join_table(
    build: QueryBuilder,
    step: JoinStep,
    stream: KStream[Any, Any],
    table: KTable[Any, Any],
    rows: Joiner,
) -> KStream[Any, Any]:
    options: dict[str, Any] = {
        "key": build.serdes.key(step),
        "value": build.serdes.row(step.left.row),
        "name": step.name,
    }
    if step.kind is JoinKind.INNER:
        return stream.join(table, _joining(step, rows), **options)
    return stream.left_join(table, _joining(step, rows), **options)


def _join_tables(
    build: QueryBuilder,
    step: JoinStep,
    left: KTable[Any, Any],
    right: KTable[Any, Any],
    rows: Joiner,
) -> KTable[Any, Any]:
    key, row = build.serdes.key(step), build.serdes.row((*step.left.row, *step.right.row))
    stored: Materialized[Any, Any] = Materialized(key=key, value=row)
    match step.kind:
        case JoinKind.INNER:
            joined = left.join(right, rows, stored)
        case JoinKind.LEFT:
            joined = left.left_join(right, rows, stored)
        case JoinKind.OUTER:
            joined = left.outer_join(right, rows, stored)
        case JoinKind.RIGHT:
            joined = right.left_join(left, _swapped(rows), stored)
    if not step.adds_key:
        return joined
    with_the_key: Materialized[Any, Any] = Materialized(key=key, value=build.serdes.row(step.row))
    return joined.map_values(with_key(lambda key, row: row + key), with_the_key)


def join_on_foreign_key(build: QueryBuilder, step: ForeignKeyJoinStep) -> KTable[Any, Any]:
    """Joins each row of the left table with the right one's row that an expression names."""
    left, right = build.flow(step.left), build.flow(step.right)
    assert isinstance(left, KTable)
    assert isinstance(right, KTable)
    rows = joiner(len(step.left.row), len(step.right.row))
    compiled = build.typing.compiled(step.expression, build.typing.scope(step.left.row))
    evaluate = projection([compiled], build.log(step.name))

    def foreign_key(key: Any, row: Any) -> Any:
        found = evaluate(key, row)
        return None if found == (None,) else found

    stored: Materialized[Any, Any] = Materialized(
        key=build.serdes.key(step), value=build.serdes.row(step.row)
    )
    method = left.join if step.kind is JoinKind.INNER else left.left_join
    return method(right, rows, stored, foreign_key=with_key(foreign_key))


def _joining(step: JoinStep, rows: Joiner) -> Any:
    if not step.adds_key:
        return rows
    return with_key(lambda key, one, other: rows(one, other) + (key or (None,)))


def _swapped(rows: Joiner) -> Joiner:
    return lambda one, other: rows(other, one)


def _windows(within: Within) -> JoinWindows:
    """Without a grace period, unmatched records come out at once, as they did before there was
    one."""
    before, after = _delta(within.before), _delta(within.after)
    if within.grace is None:
        windows = JoinWindows.of(max(before, after))
    else:
        windows = JoinWindows.of_time_difference(max(before, after), grace=_delta(within.grace))
    return windows.before(before).after(after)


def _delta(duration: Duration) -> timedelta:
    return timedelta(milliseconds=duration.milliseconds)
