"""Plans of queries that aggregate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.sql.analysis.sources import WINDOW_BOUNDS
from headrace.sql.errors import SqlError
from headrace.sql.expressions import compile_aggregation
from headrace.sql.formats import FormatInfo, RowFormat, check
from headrace.sql.metastore import WindowInfo, WindowKind
from headrace.sql.plan.aggregation import Grouped, aggregate_name, bounds_used
from headrace.sql.plan.draft import Draft, PlannedQuery, ignore, like
from headrace.sql.plan.keys import KeyPart, has_key
from headrace.sql.plan.projection import Projection
from headrace.sql.plan.steps import AggregateStep, FilterStep, Step
from headrace.sql.schema import Column
from headrace.sql.syntax.ast import (
    ColumnReference,
    Emit,
    Expression,
    FunctionCall,
    HoppingWindow,
    TumblingWindow,
    WindowExpression,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.types import SqlType


def plan_grouped(draft: Draft, key: tuple[KeyPart, ...], projection: Projection) -> PlannedQuery:
    """Read, filter, group, aggregate, filter again, project."""
    query = draft.query
    grouped = Grouped(key, draft.columns, draft.functions)
    expressions = grouped.select(projection.values)
    having = None if query.having is None else grouped.having(query.having)
    calls = [_with_argument(draft, call) for call in grouped.calls]
    keeps_key = has_key(query, query.group_by) and not any(
        source.source.window for source in query.sources
    )
    if not keeps_key:
        draft.use(query.group_by)
    draft.use(calls)
    step = draft.filtered(draft.relation())
    if not keeps_key:
        step = draft.pruned(step, [*query.group_by, *calls])
    all_expressions = expressions if having is None else [*expressions, having]
    bounds = WINDOW_BOUNDS if bounds_used(all_expressions) else ()
    aggregate = _aggregate(draft, step, key, calls, keeps_key, bounds)
    return draft.projected(
        _having(draft, aggregate, having, grouped),
        projection,
        [draft.internal(each) for each in expressions],
    )


def _with_argument(draft: Draft, call: FunctionCall) -> FunctionCall:
    """Aggregates without arguments get the time of the row. COUNT doesn't look at it."""
    if call.arguments or call.name == "COUNT":
        return call
    return FunctionCall(call.name, (ColumnReference("ROWTIME", draft.query.sources[0].alias),))


def _aggregate(
    draft: Draft,
    step: Step,
    key: tuple[KeyPart, ...],
    calls: Sequence[FunctionCall],
    keeps_key: bool,
    bounds: tuple[Column, ...],
) -> Step:
    query = draft.query
    group_by = tuple(draft.internal(each) for each in query.group_by)
    internal = tuple(draft.internal(call) for call in calls)
    made = compile_aggregation(internal, draft.typing.scope(step.row), ignore)
    if step.is_table and made.stream_only:
        names = ", ".join(made.stream_only)
        raise SqlError(
            f"The aggregation function(s) ({names}) cannot be applied to a table source, only "
            "to a stream source."
        )
    types = step.key if keeps_key else draft.key_columns(key, group_by, step)
    key_columns = tuple(
        Column(part.name, column.type) for part, column in zip(key, types, strict=True)
    )
    _check_intermediates(draft, made.intermediates)
    return AggregateStep(
        input=step,
        group_by=group_by,
        keeps_key=keeps_key,
        calls=internal,
        windows=query.window,
        final=query.emit is Emit.FINAL,
        key=key_columns,
        row=(*key_columns, *_aggregates(made.types), *bounds),
        is_table=True,
        key_format=step.key_format if keeps_key else draft.changed_key_format(step),
        window=_window_info(query.window),
        name="Aggregate",
    )


def _aggregates(types: Iterable[SqlType]) -> tuple[Column, ...]:
    return tuple(Column(aggregate_name(index), type_) for index, type_ in enumerate(types))


def _check_intermediates(draft: Draft, types: Iterable[SqlType]) -> None:
    """ksqlDB writes states in the format of the source. That ours are written otherwise must not
    make statements work that are refused elsewhere."""
    info = draft.query.sources[0].source.value_format.info
    try:
        check(RowFormat(FormatInfo(info.name), _aggregates(types)))
    except SqlError as error:
        if "does not support type" not in error.message:
            return
        raise SqlError(
            "One of the functions used in the statement has an intermediate type that the "
            "value format can not handle. Please remove the function or change the format."
            "\nConsider up-voting https://github.com/confluentinc/ksql/issues/3950, which "
            "will resolve this limitation"
        ) from error


def _having(draft: Draft, step: Step, having: Expression | None, grouped: Grouped) -> Step:
    if having is None:
        return step
    internal = draft.internal(having)
    try:
        draft.typing.condition(internal, step.row, "HAVING", format_expression(internal))
    except SqlError as error:
        raise SqlError(grouped.shown(error.message)) from error
    return FilterStep(input=step, condition=internal, **like(step, name="Aggregate-HavingFilter"))


def _window_info(window: WindowExpression | None) -> WindowInfo | None:
    match window:
        case None:
            return None
        case TumblingWindow(size=size):
            return WindowInfo(WindowKind.TUMBLING, size.milliseconds)
        case HoppingWindow(size=size):
            return WindowInfo(WindowKind.HOPPING, size.milliseconds)
        case _:
            return WindowInfo(WindowKind.SESSION)
