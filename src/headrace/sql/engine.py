"""The engine: executes statements one after another, and keeps what they made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from headrace.core.errors import HeadraceError
from headrace.sql.errors import SqlError, StatementError, underlined
from headrace.sql.formats import SchemaRegistry
from headrace.sql.functions.registry import FunctionRegistry, builtin_functions
from headrace.sql.metastore import Metastore
from headrace.sql.pull.plans import PullPlans
from headrace.sql.pull.query import PullQuery
from headrace.sql.push.planner import plan_push
from headrace.sql.push.query import PushQuery
from headrace.sql.queries import PersistentQuery, QueryKind
from headrace.sql.settings import Settings
from headrace.sql.statements.assertions import assert_schema, assert_topic
from headrace.sql.statements.inserts import insert_values
from headrace.sql.statements.outcome import Done, InsertedRow, Outcome
from headrace.sql.statements.queries import create_as_select, insert_into
from headrace.sql.statements.session import Session
from headrace.sql.statements.sources import (
    alter_source,
    create_source,
    create_type,
    drop_source,
    drop_type,
)
from headrace.sql.syntax import ast
from headrace.sql.syntax.parser import ParsedStatement
from headrace.sql.topics import InMemoryTopics, Topics

T = TypeVar("T")

__all__ = ["Done", "Engine", "InsertedRow", "Outcome"]


class Engine:
    """Streams, tables, types and persistent queries, and the statements that make them.

    `settings` are ksqlDB's (`ksql.service.id` …) and Kafka Streams'; SET changes them for the
    statements that follow.

    Statements read schemas from the `registry`, and register and delete them at the `registrar`,
    which is the same if none is given.

    Parse all of a text first (`syntax.parser.parse`), then execute statement by statement. What a
    persistent query needs to run is in the PersistentQuery; the engine runs nothing itself.
    `execute` and `terminate` change it, and are for one thread; all else may be asked by any.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        topics: Topics | None = None,
        registry: SchemaRegistry | None = None,
        registrar: SchemaRegistry | None = None,
        functions: FunctionRegistry | None = None,
    ) -> None:
        self._session = Session(
            Settings(settings or {}),
            topics if topics is not None else InMemoryTopics(),
            registry,
            registrar or registry,
            functions or builtin_functions(),
        )
        self._pull_plans = PullPlans()

    @property
    def metastore(self) -> Metastore:
        return self._session.metastore

    @property
    def queries(self) -> Mapping[str, PersistentQuery]:
        return self._session.queries

    @property
    def topics(self) -> Topics:
        return self._session.topics

    @property
    def settings(self) -> Settings:
        return self._session.settings

    @property
    def functions(self) -> FunctionRegistry:
        return self._session.functions

    @property
    def registry(self) -> SchemaRegistry | None:
        return self._session.registry

    def sandbox(self, topics: Topics, registry: SchemaRegistry | None) -> Engine:
        """A copy to try statements on. What they would do to topics and to the registry is done to
        those that are given."""
        return self._copy(topics, registry, registry)

    def copy(self, topics: Topics) -> Engine:
        """One that begins where this one is, over other topics. What is executed there changes
        nothing here, so that who reads this one needs no lock."""
        return self._copy(topics, self.registry, self._session.registrar)

    def _copy(
        self, topics: Topics, registry: SchemaRegistry | None, registrar: SchemaRegistry | None
    ) -> Engine:
        copy = Engine(
            self._session.settings,
            topics=topics,
            registry=registry,
            registrar=registrar,
            functions=self.functions,
        )
        session = copy._session
        session.metastore.sources.update(self.metastore.sources)
        session.metastore.types.update(self.metastore.types)
        session.queries.update(self._session.queries)
        session.query_count = self._session.query_count
        return copy

    def number_next_query(self, number: int) -> None:
        """Say which number the id of the next query ends with."""
        self._session.query_count = number

    def terminate(self, query_id: str) -> None:
        """Forget a query. Raises SqlError if there is none of that id."""
        query = self._session.queries.get(query_id)
        if query is None:
            raise SqlError(f"Unknown queryId: {query_id}")
        if query.kind is QueryKind.CREATE_SOURCE:
            raise SqlError(
                f"Cannot terminate query '{query_id}' because it is linked to a source table."
            )
        del self._session.queries[query_id]
        self._pull_plans.forget()

    def pull(
        self, parsed: ParsedStatement, overrides: Mapping[str, Any] | None = None
    ) -> PullQuery:
        """Plan a pull query, a SELECT without EMIT. Raises StatementError if it can't be
        answered."""

        def plan(session: Session, statement: ast.QueryStatement, sql: str) -> PullQuery:
            return self._pull_plans.plan(session, statement.query, overrides or {})

        return self._ask(plan, parsed, overrides)

    def push(
        self,
        parsed: ParsedStatement,
        query_id: str,
        overrides: Mapping[str, Any] | None = None,
    ) -> PushQuery:
        """Plan a push query, a SELECT with EMIT. Raises StatementError if it makes no sense."""

        def plan(session: Session, statement: ast.QueryStatement, sql: str) -> PushQuery:
            return plan_push(session, statement.query, query_id)

        return self._ask(plan, parsed, overrides)

    def execute(
        self, parsed: ParsedStatement, overrides: Mapping[str, Any] | None = None
    ) -> Outcome:
        """Execute a statement; `overrides` are settings for it alone. Raises StatementError if that
        can't be done; then nothing has changed."""
        handler = _HANDLERS.get(type(parsed.statement))
        if handler is None:
            raise StatementError("The engine has nothing to do for this statement.", parsed.text)
        self._pull_plans.forget()
        session = self._session
        before = session.settings
        try:
            with _underlined(parsed):
                if overrides:
                    session.settings = before.over(overrides)
                return handler(session, parsed.statement, parsed.text)
        finally:
            session.settings = before

    def _ask(
        self,
        plan: Callable[[Session, Any, str], T],
        parsed: ParsedStatement,
        overrides: Mapping[str, Any] | None,
    ) -> T:
        """Plan with settings of its own, as others may do at the same time."""
        with _underlined(parsed):
            settings = self.settings.over(overrides) if overrides else self.settings
            return plan(replace(self._session, settings=settings), parsed.statement, parsed.text)


@contextmanager
def _underlined(parsed: ParsedStatement) -> Iterator[None]:
    """Have errors say which part of a statement they are about."""
    try:
        yield
    except StatementError:
        raise
    except SqlError as error:
        raise StatementError(error.message, parsed.text, _excerpt(parsed, error)) from error
    except HeadraceError as error:  # of the DSL, such as a window that can't be
        raise StatementError(str(error), parsed.text) from error


def _excerpt(parsed: ParsedStatement, error: SqlError) -> str:
    """The line of the statement that is to blame, underlined. Positions count from the beginning of
    the text in which the statement stood."""
    start = parsed.statement.position
    if error.position is None or start is None:
        return ""
    line = error.position[0] - start[0] + 1
    column = error.position[1] - (start[1] - 1 if line == 1 else 0)
    return underlined(parsed.text, line, column)


def _set(session: Session, statement: ast.SetProperty, sql: str) -> Outcome:
    session.settings.override(statement.name, statement.value)
    return Done(f"Successfully changed local property '{statement.name}' to '{statement.value}'.")


def _unset(session: Session, statement: ast.UnsetProperty, sql: str) -> Outcome:
    session.settings.reset(statement.name)
    return Done(f"Successfully unset local property '{statement.name}'.")


def _variable(session: Session, statement: ast.Statement, sql: str) -> Outcome:
    return Done("Variables are bound when a text is parsed.")


_HANDLERS: dict[type[ast.Statement], Callable[[Session, Any, str], Outcome]] = {
    ast.CreateSource: create_source,
    ast.CreateAsSelect: create_as_select,
    ast.InsertInto: insert_into,
    ast.InsertValues: insert_values,
    ast.DropSource: drop_source,
    ast.AlterSource: alter_source,
    ast.CreateType: create_type,
    ast.DropType: drop_type,
    ast.AssertTopic: assert_topic,
    ast.AssertSchema: assert_schema,
    ast.SetProperty: _set,
    ast.UnsetProperty: _unset,
    ast.DefineVariable: _variable,
    ast.UndefineVariable: _variable,
}
