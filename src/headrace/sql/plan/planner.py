"""Plans queries: the steps from topics to the rows of the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from headrace.sql.analysis.query import ResolvedQuery
from headrace.sql.analysis.sources import SYSTEM_NAMES, WINDOW_BOUNDS, QuerySource
from headrace.sql.errors import SqlError
from headrace.sql.expressions import compile_aggregation, compile_table_functions
from headrace.sql.formats import FormatInfo, RowFormat, check
from headrace.sql.functions.function import Kind
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.metastore import WindowInfo, WindowKind
from headrace.sql.plan.aggregation import (
    Grouped,
    bounds_used,
    calls_of,
    check_functions,
    is_aggregation,
)
from headrace.sql.plan.columns import Columns, references
from headrace.sql.plan.joining import READ_REPARTITION, JoinPlanner
from headrace.sql.plan.keys import KeyPart, has_key, is_null, query_key
from headrace.sql.plan.projection import Projection, split
from headrace.sql.plan.selection import Selected, expand
from headrace.sql.plan.steps import (
    AggregateStep,
    FilterStep,
    FlatMapStep,
    ProjectStep,
    RekeyStep,
    SourceStep,
    Step,
)
from headrace.sql.plan.typing import Typing
from headrace.sql.schema import Column, Schema
from headrace.sql.syntax.ast import (
    ColumnReference,
    Emit,
    Expression,
    FunctionCall,
    HoppingWindow,
    SingleColumn,
    TumblingWindow,
    WindowExpression,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.syntax.traversal import rewrite
from headrace.sql.topics import Topics

E = TypeVar("E", bound=Expression)

KEY_FORMAT_BY_DEFAULT = "ksql.persistence.default.format.key"


@dataclass(frozen=True)
class PlannedQuery:
    """A query's steps, and the columns of its result."""

    step: ProjectStep
    schema: Schema

    @property
    def window(self) -> WindowInfo | None:
        return self.step.window


@dataclass(frozen=True)
class Planner:
    """Plans queries whose results go to `sink`. `key_format` is what the sink wants keys to be
    written in, if it says so; `value_format` what its values will be."""

    functions: FunctionRegistry
    settings: Mapping[str, Any]
    topics: Topics
    sink: str
    key_format: FormatInfo | None = None

    def plan(self, query: ResolvedQuery) -> PlannedQuery:
        """Raises SqlError if the query makes no sense."""
        return _QueryPlan(self, query).plan()


class _QueryPlan:
    def __init__(self, planner: Planner, query: ResolvedQuery) -> None:
        self._planner = planner
        self._query = query
        self._functions = planner.functions
        self._typing = Typing(planner.functions, planner.settings)
        self._columns = Columns(query)
        self._used: set[ColumnReference] = set()

    def plan(self) -> PlannedQuery:
        query = self._query
        self._check_sources()
        key = query_key(query, self._columns)
        selected = expand(query, self._columns, key, self._typing)
        self._check_functions(selected)
        aggregates = is_aggregation(query, selected, self._functions)
        self._check_clauses(aggregates)
        if aggregates:
            Grouped(key, self._columns, self._functions).select(selected)
        else:
            self._check_types(selected)
        projection = split(query, self._columns, key, selected, self._planner.sink)
        self._check_names()
        if aggregates:
            return self._aggregated(key, projection)
        return self._plain(key, projection)

    # Without groups

    def _plain(self, key: tuple[KeyPart, ...], projection: Projection) -> PlannedQuery:
        query = self._query
        expressions = [item.expression for item in projection.values]
        self._use(expressions)
        if query.partition_by and not is_null(query.partition_by):
            self._use(query.partition_by)
        step = self._filtered(self._relation())
        step, expressions = self._flat_mapped(step, expressions)
        step = self._partitioned(step, key)
        return self._projected(step, projection, [self._internal(each) for each in expressions])

    def _flat_mapped(
        self, step: Step, expressions: list[Expression]
    ) -> tuple[Step, list[Expression]]:
        """Put the values of table functions into the row, and their names into expressions."""
        calls: list[FunctionCall] = []
        for call in calls_of(expressions, self._functions, Kind.TABLE):
            if call not in calls:
                calls.append(call)
        if not calls:
            return step, expressions
        if step.is_table:
            raise SqlError("Table source is not supported with table functions")
        for call in calls:
            for _ in calls_of(call.arguments, self._functions, Kind.TABLE):
                raise SqlError(f"Table functions can not be nested: {format_expression(call)}")
        internal = tuple(self._internal(call) for call in calls)
        made = compile_table_functions(internal, self._typing.scope(step.row), _ignore)
        names = [f"KSQL_SYNTH_{index}" for index in range(len(calls))]
        columns = tuple(
            Column(name, type_)
            for name, type_ in zip(names, made.types, strict=True)
            if type_ is not None
        )
        mapped = FlatMapStep(
            input=step, calls=internal, **_like(step, row=(*step.row, *columns), name="FlatMap")
        )

        def change(node: Expression) -> Expression | None:
            if isinstance(node, FunctionCall) and node in calls:
                return ColumnReference(names[calls.index(node)])
            return None

        return mapped, [rewrite(expression, change) for expression in expressions]

    def _partitioned(self, step: Step, key: tuple[KeyPart, ...]) -> Step:
        expressions = self._query.partition_by
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
                **_like(step, key=(), key_format=FormatInfo("NONE"), name="PartitionBy"),
            )
        if has_key(self._query, expressions):
            return step
        if step.window is not None:
            raise SqlError(
                "Implicit repartitioning of windowed sources is not supported. "
                f"See {READ_REPARTITION}."
            )
        internal = tuple(self._internal(each) for each in expressions)
        return RekeyStep(
            input=step,
            expressions=internal,
            **_like(
                step,
                key=self._key_columns(key, internal, step),
                key_format=self._changed_key_format(step),
                name="PartitionBy",
            ),
        )

    # With groups

    def _aggregated(self, key: tuple[KeyPart, ...], projection: Projection) -> PlannedQuery:
        query = self._query
        grouped = Grouped(key, self._columns, self._functions)
        expressions = grouped.select(projection.values)
        having = None if query.having is None else grouped.having(query.having)
        calls = [self._with_argument(call) for call in grouped.calls]
        keeps_key = has_key(query, query.group_by) and not any(
            source.source.window for source in query.sources
        )
        if not keeps_key:
            self._use(query.group_by)
        self._use(calls)
        step = self._filtered(self._relation())
        if not keeps_key:
            step = self._pruned(step, [*query.group_by, *calls])
        all_expressions = expressions if having is None else [*expressions, having]
        bounds = WINDOW_BOUNDS if bounds_used(all_expressions) else ()
        aggregate = self._aggregate_step(step, key, calls, keeps_key, bounds)
        return self._projected(
            self._having(aggregate, having, grouped),
            projection,
            [self._internal(each) for each in expressions],
        )

    def _pruned(self, step: Step, expressions: Iterable[Expression]) -> Step:
        """Only the columns that are needed from here on, before they go through a topic."""
        used = {self._internal(each).name for each in references(expressions)}
        row = tuple(column for column in step.row if column.name in used)
        if len(row) == len(step.row) or not row:
            return step
        columns = tuple(ColumnReference(column.name) for column in row)
        return ProjectStep(input=step, expressions=columns, **_like(step, row=row, name="Prepare"))

    def _with_argument(self, call: FunctionCall) -> FunctionCall:
        """Aggregates without arguments get the time of the row. COUNT doesn't look at it."""
        if call.arguments or call.name == "COUNT":
            return call
        return FunctionCall(call.name, (ColumnReference("ROWTIME", self._query.sources[0].alias),))

    def _aggregate_step(
        self,
        step: Step,
        key: tuple[KeyPart, ...],
        calls: Sequence[FunctionCall],
        keeps_key: bool,
        bounds: tuple[Column, ...],
    ) -> Step:
        query = self._query
        group_by = tuple(self._internal(each) for each in query.group_by)
        internal = tuple(self._internal(call) for call in calls)
        made = compile_aggregation(internal, self._typing.scope(step.row), _ignore)
        if step.is_table and made.stream_only:
            names = ", ".join(made.stream_only)
            raise SqlError(
                f"The aggregation function(s) ({names}) cannot be applied to a table source, only "
                "to a stream source."
            )
        key_columns = step.key if keeps_key else self._key_columns(key, group_by, step)
        key_columns = tuple(
            Column(part.name, column.type) for part, column in zip(key, key_columns, strict=True)
        )
        aggregates = tuple(
            Column(f"KSQL_AGG_VARIABLE_{index}", type_) for index, type_ in enumerate(made.types)
        )
        self._check_intermediates(made.intermediates)
        key_format = step.key_format if keeps_key else self._changed_key_format(step)
        return AggregateStep(
            input=step,
            group_by=group_by,
            keeps_key=keeps_key,
            calls=internal,
            windows=query.window,
            final=query.emit is Emit.FINAL,
            key=key_columns,
            row=(*key_columns, *aggregates, *bounds),
            is_table=True,
            key_format=key_format,
            window=_window_info(query.window),
            name="Aggregate",
        )

    def _check_intermediates(self, types: Iterable[Any]) -> None:
        """ksqlDB writes states in the format of the source. That ours are written otherwise must
        not make statements work that are refused elsewhere."""
        info = self._query.sources[0].source.value_format.info
        columns = tuple(
            Column(f"KSQL_AGG_VARIABLE_{index}", type_) for index, type_ in enumerate(types)
        )
        try:
            check(RowFormat(FormatInfo(info.name), columns))
        except SqlError as error:
            if "does not support type" not in error.message:
                return
            raise SqlError(
                "One of the functions used in the statement has an intermediate type that the "
                "value format can not handle. Please remove the function or change the format."
                "\nConsider up-voting https://github.com/confluentinc/ksql/issues/3950, which "
                "will resolve this limitation"
            ) from error

    def _having(self, step: Step, having: Expression | None, grouped: Grouped) -> Step:
        if having is None:
            return step
        internal = self._internal(having)
        shown = format_expression(internal)
        try:
            self._typing.condition(internal, step.row, "HAVING", shown)
        except SqlError as error:
            raise SqlError(grouped.shown(error.message)) from error
        return FilterStep(
            input=step, condition=internal, **_like(step, name="Aggregate-HavingFilter")
        )

    # Parts of both

    def _relation(self) -> Step:
        planner = JoinPlanner(
            self._columns,
            self._typing,
            self._planner.topics,
            self._default_key_format,
            self._read,
        )
        return planner.plan(self._query.relation)

    def _read(self, source: QuerySource, name: str) -> Step:
        step = self._source_step(source, name)
        if self._query.is_join and not step.is_table:
            return self._pruned(step, self._used)  # rows of joined streams are kept for a while
        return step

    def _source_step(self, source: QuerySource, name: str) -> SourceStep:
        used = {each.name for each in self._used if each.source == source.alias}
        extras = tuple(column for column in source.extra_columns() if column.name in used)
        columns = self._columns
        return SourceStep(
            source=source,
            extras=extras,
            key=columns.of(source, source.source.schema.key),
            row=columns.of(source, (*source.source.schema.value, *extras)),
            is_table=source.source.is_table,
            key_format=source.source.key_format.info,
            window=source.source.window,
            name=name,
        )

    def _filtered(self, step: Step) -> Step:
        where = self._query.where
        if where is None:
            return step
        internal = self._internal(where)
        self._typing.condition(internal, step.row, "WHERE", format_expression(internal))
        return FilterStep(input=step, condition=internal, **_like(step, name="WhereFilter"))

    def _projected(
        self, step: Step, projection: Projection, expressions: Sequence[Expression]
    ) -> PlannedQuery:
        columns = tuple(
            Column(item.alias, self._typing.value_type(expression, step.row))
            for item, expression in zip(projection.values, expressions, strict=True)
        )
        key = tuple(
            Column(name, column.type) for name, column in zip(projection.key, step.key, strict=True)
        )
        _check_duplicates(key, "key", set())
        _check_duplicates(columns, "value", {column.name for column in key})
        projected = ProjectStep(
            input=step,
            expressions=tuple(expressions),
            **_like(step, key=key, row=columns, name="Project"),
        )
        return PlannedQuery(projected, Schema(key, columns))

    def _key_columns(
        self, key: tuple[KeyPart, ...], expressions: Sequence[Expression], step: Step
    ) -> tuple[Column, ...]:
        return tuple(
            Column(part.name, self._typing.value_type(expression, step.row))
            for part, expression in zip(key, expressions, strict=True)
        )

    @property
    def _default_key_format(self) -> str:
        return str(self._planner.settings.get(KEY_FORMAT_BY_DEFAULT, "KAFKA")).upper()

    def _changed_key_format(self, step: Step) -> FormatInfo:
        """A new key is written as the sink wants it, or as the old one was."""
        if self._planner.key_format is not None:
            return self._planner.key_format
        if step.key_format.name == "NONE":
            return FormatInfo(self._default_key_format)
        return step.key_format

    def _internal(self, expression: E) -> E:
        return self._columns.internal(expression)

    def _use(self, expressions: Iterable[Expression]) -> None:
        self._used.update(references(expressions))

    # What makes no sense

    def _check_sources(self) -> None:
        query = self._query
        for source in query.sources:
            if source.source.is_table and source.source.window is not None:
                raise SqlError("KSQL does not support persistent queries on windowed tables.")
        if query.where is not None:
            self._use([query.where])
        relation = query.relation
        while not isinstance(relation, QuerySource):
            self._use([relation.left_expression, relation.right_expression])
            relation = relation.left
        if query.is_join:
            self._relation()  # what can't be joined is told before anything else
        if len(query.partition_by) > 1 and any(is_null((each,)) for each in query.partition_by):
            raise SqlError("Cannot PARTITION BY multiple columns including NULL")

    def _check_functions(self, selected: Sequence[Selected]) -> None:
        query = self._query
        expressions = [item.expression for item in selected]
        expressions += [each for each in (query.where, query.having) if each is not None]
        expressions += [*query.group_by, *query.partition_by]
        check_functions(expressions, self._functions)

    def _check_types(self, selected: Sequence[Selected]) -> None:
        """What is wrong with types is told before what is wrong with the key."""
        row = self._everything()
        scope = self._typing.scope(row)
        for item in selected:
            internal = self._internal(item.expression)
            calls = tuple(calls_of([internal], self._functions, Kind.TABLE))
            if calls:
                compile_table_functions(calls, scope, _ignore)
            else:
                self._typing.value(internal, row)

    def _everything(self) -> tuple[Column, ...]:
        """All columns that could be selected."""
        columns, relation = self._columns.everything(), self._query.relation
        synthetic = self._columns.synthetic_key
        if synthetic is None or isinstance(relation, QuerySource):
            return columns
        joined_on = self._internal(relation.left_expression)
        return (*columns, Column(synthetic, self._typing.value_type(joined_on, columns)))

    def _check_clauses(self, aggregates: bool) -> None:
        query = self._query
        if query.window is not None and not query.group_by:
            raise SqlError("WINDOW clause requires a GROUP BY clause.")
        if query.having is not None and not query.group_by:
            raise SqlError("HAVING clause requires a GROUP BY clause.")
        if query.emit is Emit.FINAL and query.window is None:
            raise SqlError("EMIT FINAL is only supported for windowed aggregations.")
        if aggregates:
            unfit = [
                each.source.name
                for each in query.sources
                if each.source.value_format.info.name == "KAFKA"
            ]
            if unfit:
                raise SqlError(
                    f"Source(s) {', '.join(unfit)} are using the 'KAFKA' value format. "
                    "This format does not yet support GROUP BY."
                )

    def _check_names(self) -> None:
        for item in self._query.select:
            if isinstance(item, SingleColumn) and item.alias in SYSTEM_NAMES:
                raise SqlError(
                    f"Reserved column name in select: `{item.alias}`. "
                    "Please remove or alias the column."
                )


def _like(step: Step, **changes: Any) -> dict[str, Any]:
    """What comes out of a step that is like another, but for some changes."""
    same = {
        "key": step.key,
        "row": step.row,
        "is_table": step.is_table,
        "key_format": step.key_format,
        "window": step.window,
    }
    return {**same, **changes}


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


def _check_duplicates(columns: tuple[Column, ...], kind: str, seen: set[str]) -> None:
    for column in columns:
        if column.name in seen:
            raise SqlError(f"Duplicate {kind} columns found in schema: {column}")
        seen.add(column.name)


def _ignore(what: str, error: Exception) -> None:
    """Planning evaluates nothing."""
