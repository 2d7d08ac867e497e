"""Plans of queries that aggregate nothing."""

from __future__ import annotations

from headrace.sql.errors import SqlError
from headrace.sql.expressions import compile_table_functions
from headrace.sql.formats import FormatInfo
from headrace.sql.functions.function import Kind
from headrace.sql.plan.aggregation import calls_of
from headrace.sql.plan.draft import Draft, PlannedQuery, ignore, like
from headrace.sql.plan.joining import READ_REPARTITION
from headrace.sql.plan.keys import KeyPart, has_key, is_null
from headrace.sql.plan.projection import Projection
from headrace.sql.plan.steps import FlatMapStep, RekeyStep, Step
from headrace.sql.schema import Column
from headrace.sql.syntax.ast import ColumnReference, Expression, FunctionCall
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.syntax.traversal import rewrite


def plan_plain(draft: Draft, key: tuple[KeyPart, ...], projection: Projection) -> PlannedQuery:
    """Read, filter, make more rows, change the key, project."""
    query = draft.query
    expressions = [item.expression for item in projection.values]
    draft.use(expressions)
    if query.partition_by and not is_null(query.partition_by):
        draft.use(query.partition_by)
    step = draft.filtered(draft.relation())
    step, expressions = _flat_mapped(draft, step, expressions)
    step = _partitioned(draft, step, key)
    return draft.projected(step, projection, [draft.internal(each) for each in expressions])


def _flat_mapped(
    draft: Draft, step: Step, expressions: list[Expression]
) -> tuple[Step, list[Expression]]:
    """Put the values of table functions into the row, and their names into expressions."""
    calls: list[FunctionCall] = []
    for call in calls_of(expressions, draft.functions, Kind.TABLE):
        if call not in calls:
            calls.append(call)
    if not calls:
        return step, expressions
    if step.is_table:
        raise SqlError("Table source is not supported with table functions")
    for call in calls:
        for _ in calls_of(call.arguments, draft.functions, Kind.TABLE):
            raise SqlError(f"Table functions can not be nested: {format_expression(call)}")
    internal = tuple(draft.internal(call) for call in calls)
    made = compile_table_functions(internal, draft.typing.scope(step.row), ignore)
    names = [f"KSQL_SYNTH_{index}" for index in range(len(calls))]
    columns = tuple(
        Column(name, type_)
        for name, type_ in zip(names, made.types, strict=True)
        if type_ is not None
    )
    mapped = FlatMapStep(
        input=step, calls=internal, **like(step, row=(*step.row, *columns), name="FlatMap")
    )

    def change(node: Expression) -> Expression | None:
        if isinstance(node, FunctionCall) and node in calls:
            return ColumnReference(names[calls.index(node)])
        return None

    return mapped, [rewrite(expression, change) for expression in expressions]


def _partitioned(draft: Draft, step: Step, key: tuple[KeyPart, ...]) -> Step:
    expressions = draft.query.partition_by
    if not expressions:
        return step
    if step.is_table:
        raise SqlError(
            "PARTITION BY is not supported for tables: the key of a table is its identity."
        )
    if is_null(expressions):
        return RekeyStep(
            input=step,
            expressions=(),
            **like(step, key=(), key_format=FormatInfo("NONE"), name="PartitionBy"),
        )
    if has_key(draft.query, expressions):
        return step
    if step.window is not None:
        raise SqlError(
            f"Implicit repartitioning of windowed sources is not supported. See {READ_REPARTITION}."
        )
    internal = tuple(draft.internal(each) for each in expressions)
    return RekeyStep(
        input=step,
        expressions=internal,
        **like(
            step,
            key=draft.key_columns(key, internal, step),
            key_format=draft.changed_key_format(step),
            name="PartitionBy",
        ),
    )
