"""Plans pull queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.windowed import LONG_MAX
from headrace.sql.analysis.analyzer import analyse
from headrace.sql.analysis.query import ResolvedQuery
from headrace.sql.analysis.sources import WINDOW_BOUNDS, QuerySource
from headrace.sql.building.log import ProcessingLog
from headrace.sql.errors import SqlError, StatementError
from headrace.sql.expressions import compile_expression, evaluator, predicate, projection
from headrace.sql.functions.function import Kind
from headrace.sql.metastore import DataSource
from headrace.sql.plan.aggregation import calls_of, check_functions
from headrace.sql.plan.columns import Columns, references
from headrace.sql.plan.keys import query_key
from headrace.sql.plan.selection import Selected, expand
from headrace.sql.plan.typing import Typing
from headrace.sql.pull.keys import KeyFinder, ScanNeeded, check_key_type, window_starts
from headrace.sql.pull.query import Found, PullQuery, ResultColumn, WindowStarts
from headrace.sql.queries import PersistentQuery, QueryKind
from headrace.sql.schema import Column, HeaderColumn, of_headers
from headrace.sql.statements.session import Session
from headrace.sql.syntax.ast import (
    Between,
    Cast,
    ColumnReference,
    Comparison,
    ComparisonOperator,
    Expression,
    Join,
    Like,
    Literal,
    Query,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.syntax.traversal import rewrite, walk
from headrace.sql.times import parse_timestamp
from headrace.sql.types import BIGINT, STRING

_HELP = (
    "See https://cnfl.io/queries for more info.\n"
    "Add EMIT CHANGES if you intended to issue a push query."
)
_UNKNOWN = ("ROWPARTITION", "ROWOFFSET")
_TIMES = ("ROWTIME", "WINDOWSTART", "WINDOWEND")

TABLE_SCANS = "ksql.query.pull.table.scan.enabled"
RANGE_SCANS = "ksql.query.pull.range.scan.enabled"


def plan_pull(session: Session, query: Query, query_id: str) -> PullQuery:
    """Raises SqlError if it can't be answered."""
    _check_clauses(query)
    resolved = analyse(query, session.metastore)
    return _PullPlan(session, resolved, query_id).plan()


def _check_clauses(query: Query) -> None:
    refused = {
        "JOIN": isinstance(query.source, Join),
        "WINDOW": query.window is not None,
        "GROUP BY": bool(query.group_by),
        "PARTITION BY": bool(query.partition_by),
        "HAVING": query.having is not None,
    }
    for clause, is_there in refused.items():
        if is_there:
            raise SqlError(f"Pull queries don't support {clause} clauses. {_HELP}")
    if query.limit is not None and query.limit < 0:
        raise SqlError(
            "Pull queries don't support negative integers in the LIMIT clause. "
            "See https://cnfl.io/queries for more info."
        )


@dataclass
class _PullPlan:
    session: Session
    query: ResolvedQuery
    query_id: str

    def __post_init__(self) -> None:
        self.source: QuerySource = self.query.sources[0]
        self.typing = Typing(self.session.functions, self.session.settings)
        self.columns = Columns(self.query)
        self.row = tuple(self.source.all_columns())

    def plan(self) -> PullQuery:
        source = self.source.source
        selected = self._selected()
        where = self._where()
        columns = self._result_columns(selected)
        materialized_by = self._materialized_by(source) if source.is_table else None
        keys = self._keys(where) if source.is_table else None
        return PullQuery(
            columns,
            source,
            materialized_by,
            keys,
            _starts(where),
            self.query.limit,
            self._result(selected, None if _is_said_by(keys, where) else where),
        )

    # What is selected

    def _selected(self) -> list[Selected]:
        key = query_key(self.query, self.columns)
        selected = expand(self.query, self.columns, key, self.typing, bounds=True)
        expressions = [item.expression for item in selected]
        self._check_columns(expressions, "SELECT")
        check_functions(expressions, self.session.functions)
        for kind in (Kind.AGGREGATE, Kind.TABLE):
            for call in calls_of(expressions, self.session.functions, kind):
                raise SqlError(
                    f"Pull queries don't support {kind.value.lower()} functions: "
                    f"{format_expression(self.columns.internal(call))}. {_HELP}"
                )
        return selected

    def _result_columns(self, selected: Sequence[Selected]) -> tuple[ResultColumn, ...]:
        columns = []
        seen: set[str] = set()
        for item in selected:
            type_ = self.typing.value_type(self.columns.internal(item.expression), self.row)
            note = self._note(item.expression)
            if item.alias in seen:
                kind = "key" if note == "KEY" else "value"
                shown = Column(item.alias, type_)
                raise SqlError(f"Duplicate {kind} columns found in schema: {shown}")
            seen.add(item.alias)
            columns.append(ResultColumn(item.alias, type_, note))
        return tuple(columns)

    def _note(self, expression: Expression) -> str:
        """ksqlDB tells of tables which columns are their keys, but not of streams."""
        source = self.source.source
        if not isinstance(expression, ColumnReference) or not source.is_table:
            return ""
        column = self.source.find(expression.name)
        if column in source.schema.key or column in WINDOW_BOUNDS:
            return "KEY"
        return of_headers(column) if isinstance(column, HeaderColumn) else ""

    # WHERE

    def _where(self) -> Expression | None:
        where = self.query.where
        if where is None:
            return None
        self._check_columns([where], "WHERE")
        internal = _with_numbers(self.columns.internal(where))
        _check_predicates(internal, self.typing, self.row)
        shown = format_expression(internal)
        try:
            self.typing.condition(internal, self.row, "WHERE", shown)
        except SqlError as error:
            raise StatementError(error.message, shown) from error
        return internal

    def _check_columns(self, expressions: Sequence[Expression], clause: str) -> None:
        wrong = sorted({each.name for each in references(expressions) if each.name in _UNKNOWN})
        if wrong:
            raise SqlError(
                f"Pull queries don't support the following columns in {clause} clauses: "
                f"{', '.join(f'`{name}`' for name in wrong)}"
            )

    def _keys(self, where: Expression | None) -> tuple[tuple[Any, ...], ...] | None:
        settings = self.session.settings
        scans = settings.flag(TABLE_SCANS, True)
        sessions = (window := self.source.source.window) is not None and window.size_ms is None
        try:
            if where is None:
                raise ScanNeeded("Query requires table scan to be enabled")
            finder = KeyFinder(self.source.source.schema.key, self._key_value)
            return finder.find(where)
        except ScanNeeded as needed:
            one_key = len(self.source.source.schema.key) == 1
            ranges = settings.flag(RANGE_SCANS, True) and one_key and window is None
            if sessions:
                raise SqlError(
                    "Table scans are not supported for SESSION windowed tables: "
                    f"{needed.reason}. Say the key in the WHERE clause."
                ) from needed
            if scans or (needed.by_range and ranges):
                return None
            raise SqlError(f"{needed.reason}. {_SCAN_HELP}") from needed

    def _key_value(self, expression: Expression, column: Column) -> Any:
        check_key_type(expression, column)
        scope = self.typing.scope(())
        compiled = compile_expression(expression, scope)
        if compiled.type != column.type:
            compiled = compile_expression(Cast(expression, column.type), scope)
        return evaluator(compiled, _raise)(None, ())

    # Answering

    def _result(
        self, selected: Sequence[Selected], where: Expression | None
    ) -> Callable[[Found], tuple[Any, ...] | None]:
        log = ProcessingLog(self.query_id, "Pull")
        scope = self.typing.scope(self.row)
        compiled = [
            compile_expression(self.columns.internal(item.expression), scope) for item in selected
        ]
        project = projection(compiled, log)
        accepts = predicate(compile_expression(where, scope), log) if where is not None else None
        extend = _extender(self.source.source)

        def result(found: Found) -> tuple[Any, ...] | None:
            row = extend(found)
            if accepts is not None and not accepts(None, row):
                return None
            return tuple(project(None, row))

        return result

    def _materialized_by(self, source: DataSource) -> PersistentQuery:
        for query in self.session.queries.values():
            made = query.kind is QueryKind.CREATE_AS and query.sink == source.name
            keeps = query.kind is QueryKind.CREATE_SOURCE and query.sources == (source.name,)
            if (made or keeps) and query.materialization is not None:
                return query
        raise SqlError(
            f"The `{source.name}` table isn't queryable. To derive a queryable table, you can do "
            f"'CREATE TABLE QUERYABLE_{source.name} AS SELECT * FROM {source.name}'. {_HELP}"
        )


_SCAN_HELP = (
    "See https://cnfl.io/queries for more info.\n"
    "Add EMIT CHANGES if you intended to issue a push query.\n"
    f"Pull queries require a WHERE clause that: - includes a key equality expression, e.g. `SELECT "
    "* FROM X WHERE <key-column> = Y;`, or is allowed to read whole tables: "
    f"SET '{TABLE_SCANS}'='true';"
)


def _is_said_by(keys: Sequence[Any] | None, where: Expression | None) -> bool:
    """Whether all rows of the keys that were found in a condition meet it."""
    return keys is not None and isinstance(where, Comparison)


def _extender(source: DataSource) -> Callable[[Found], tuple[Any, ...]]:
    """Makes the row that expressions see: the value, then all else that a row has."""
    no_value = (None,) * len(source.schema.value)
    no_key = (None,) * len(source.schema.key)
    headers = source.schema.headers

    def extend(found: Found) -> tuple[Any, ...]:
        key, window = found.key, ()
        if source.window is not None and key is not None:
            key, window = found.key
        row = no_value if found.row is None else found.row
        if not source.is_table:
            row += tuple([_header(found, column.header) for column in headers])
        pseudo = (found.timestamp, None, None)
        return row + pseudo + (no_key if key is None else key) + tuple(window)

    return extend


def _header(found: Found, name: str | None) -> Any:
    if name is None:
        return [{"KEY": key, "VALUE": value} for key, value in found.headers]
    return next((value for key, value in reversed(list(found.headers)) if key == name), None)


def _with_numbers(condition: Expression) -> Expression:
    """The condition with numbers for times that are written as text."""

    def change(node: Expression) -> Expression | None:
        if not isinstance(node, Comparison):
            return None
        for side, other in ((node.left, node.right), (node.right, node.left)):
            is_time = isinstance(side, ColumnReference) and side.name in _TIMES
            if is_time and isinstance(other, Literal) and other.type == STRING:
                try:
                    number = Literal(parse_timestamp(other.value), BIGINT, position=other.position)
                except ValueError as error:
                    raise SqlError(str(error), other.position) from error
                left, right = (side, number) if side is node.left else (number, side)
                return Comparison(node.operator, left, right, position=node.position)
        return None

    return rewrite(condition, change)


def _check_predicates(condition: Expression, typing: Typing, row: Sequence[Column]) -> None:
    """What ksqlDB has words of its own for."""
    for node in walk(condition):
        if isinstance(node, Between):
            for operator, bound in (
                (ComparisonOperator.GREATER_THAN_OR_EQUAL, node.lower),
                (ComparisonOperator.LESS_THAN_OR_EQUAL, node.upper),
            ):
                try:
                    typing.value(Comparison(operator, node.operand, bound), row)
                except SqlError as error:
                    raise SqlError(f"Invalid expression: {error.message}") from error
        if isinstance(node, Like):
            type_ = typing.value(node.pattern, row).type
            if type_ != STRING:
                raise SqlError(
                    "The column type for Like condition must be VARCHAR. "
                    f"The column type is {type_}"
                )


def _starts(where: Expression | None) -> WindowStarts:
    first, last = 0, LONG_MAX
    for operator, number in () if where is None else window_starts(where):
        match operator:
            case ComparisonOperator.EQUAL:
                first, last = max(first, number), min(last, number)
            case ComparisonOperator.GREATER_THAN:
                first = max(first, number + 1)
            case ComparisonOperator.GREATER_THAN_OR_EQUAL:
                first = max(first, number)
            case ComparisonOperator.LESS_THAN:
                last = min(last, number - 1)
            case ComparisonOperator.LESS_THAN_OR_EQUAL:
                last = min(last, number)
    return WindowStarts(first, last)


def _raise(what: str, error: Exception) -> None:
    raise SqlError(what) from error
