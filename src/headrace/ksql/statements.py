"""Executes the statements of a request."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.record import ProducerRecord
from headrace.http.places import Places
from headrace.ksql.answers.answer import answer, ask_connect
from headrace.ksql.answers.context import Context, RunningPush
from headrace.ksql.cluster import Cluster
from headrace.ksql.commands import Command, CommandLog, Overtaken, command_id
from headrace.ksql.connect import Connect
from headrace.ksql.entities import Entity
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.executor import CommandExecutor, controlled
from headrace.ksql.failures import statement_errors
from headrace.ksql.inferred import with_columns
from headrace.ksql.pushing import PushQueries
from headrace.ksql.running import QueryError, QueryState
from headrace.ksql.sandbox import Sandbox
from headrace.sql.engine import Done, Engine, InsertedRow
from headrace.sql.errors import SqlError
from headrace.sql.syntax import ast
from headrace.sql.syntax.parser import ParsedStatement
from headrace.sql.syntax.statement_formatter import format_statement

_ATTEMPTS = 10
ASSERT_TIMEOUT = "ksql.assert.max.timeout.ms"
_ASSERT_TIMEOUT_MS = 1_000
_MOST_ASSERTS = 8
"""That wait at once: each has a thread, which others need too."""
_ASSERT_PAUSE_S = 0.05
_WRONG_ENDPOINT = (
    "The following statement types should be issued to the websocket endpoint '/query':\n"
    "\t* PRINT\n"
    "\t* SELECT"
)


@dataclass(frozen=True)
class Inside:
    """What statements work with: the parts of a server."""

    executor: CommandExecutor
    log: CommandLog
    cluster: Cluster
    pushes: PushQueries
    state: Callable[[str], QueryState]
    errors: Callable[[str], list[QueryError]]
    host: str
    connect: Connect | None
    command_timeout_s: float = 5.0
    assert_timeout_ms: int = 300_000
    asserts: Places = field(default_factory=lambda: Places(_MOST_ASSERTS))

    @property
    def engine(self) -> Engine:
        return self.executor.engine


@dataclass
class StatementRun:
    """The statements of one request. SET and DEFINE among them hold until its end."""

    inside: Inside
    overrides: dict[str, Any]
    variables: dict[str, str]
    entities: list[Entity] = field(default_factory=list)

    def run(self, parsed: Sequence[ParsedStatement]) -> list[Entity]:
        """Try all of them, then execute one after another. Raises KsqlError; if it is found out at
        the trial, none has been executed."""
        self._try_all(parsed)
        for each in parsed:
            sql = shown(each)
            try:
                with statement_errors(sql):
                    entity = self._execute(each, sql)
            except KsqlError as error:
                raise KsqlError(
                    error.code, error.message, error.statement, self.entities
                ) from error
            if entity is not None:
                self.entities.append(entity)
        return self.entities

    # The trial

    def _try_all(self, parsed: Sequence[ParsedStatement]) -> None:
        overrides, variables = dict(self.overrides), dict(self.variables)
        sandbox = self._sandbox()
        number = self.inside.executor.position
        for each in parsed:
            sql = shown(each)
            # Queries are called by where their command will be, unless others write too.
            sandbox.engine.number_next_query(number)
            with statement_errors(sql):
                self._try(each, sql, sandbox)
            number += command_id(each.statement) is not None
        self.overrides, self.variables = overrides, variables

    def _try(self, parsed: ParsedStatement, sql: str, sandbox: Sandbox) -> None:
        statement = parsed.statement
        if isinstance(statement, ast.QueryStatement | ast.PrintTopic):
            raise KsqlError(ErrorCode.QUERY_ENDPOINT, _WRONG_ENDPOINT, sql)
        if self._sets(statement):
            return
        if isinstance(statement, ast.ControlQuery):
            self._try_control(statement, sandbox.engine)
        elif command_id(statement) is not None or isinstance(statement, ast.InsertValues):
            sandbox.engine.execute(parsed, self.overrides)
        else:
            answer(self._context(sandbox.engine), statement, sql)

    def _try_control(self, statement: ast.ControlQuery, engine: Engine) -> None:
        if statement.query_id is not None and self._is_push(statement.query_id):
            return
        for query_id in controlled(statement, engine):
            if statement.action is ast.QueryAction.TERMINATE:
                engine.terminate(query_id)

    # The execution

    def _execute(self, parsed: ParsedStatement, sql: str) -> Entity | None:
        statement = parsed.statement
        if isinstance(statement, ast.UndefineVariable) and statement.name not in self.variables:
            message = f"Cannot undefine variable '{statement.name}' which was never defined"
            return Entity("warning_entity", sql, {"message": message})
        if self._sets(statement):
            return None
        if isinstance(statement, ast.InsertValues):
            self._insert(parsed)
            return None
        if isinstance(statement, ast.ControlQuery) and statement.query_id is not None:
            ended = self._end_push(statement, sql)
            if ended is not None:
                return ended
        if command_id(statement) is not None:
            return self._command(parsed, sql)
        if isinstance(statement, ast.AssertTopic | ast.AssertSchema):
            return self._assert(parsed, statement, sql)
        return self._answer(statement, sql)

    def _sets(self, statement: ast.Statement) -> bool:
        match statement:
            case ast.SetProperty(name, value):
                self.inside.engine.settings.over({name: value})
                self.overrides[name] = value
            case ast.UnsetProperty(name):
                self.overrides.pop(name, None)
            case ast.DefineVariable(name, value):
                self.variables[name] = value
            case ast.UndefineVariable(name):
                self.variables.pop(name, None)
            case _:
                return False
        return True

    def _sandbox(self) -> Sandbox:
        return Sandbox(self.inside.engine, self.inside.cluster.topics)

    def _insert(self, parsed: ParsedStatement) -> None:
        row = self._sandbox().engine.execute(parsed, self.overrides)
        assert isinstance(row, InsertedRow), "INSERT VALUES makes a row"
        self.inside.cluster.produce(
            ProducerRecord(row.topic, None, row.key, row.value, row.timestamp)
        )

    def _answer(self, statement: ast.Statement, sql: str) -> Entity:
        asked = ask_connect(self._context(self.inside.engine), statement, sql)
        if asked is not None:
            return asked
        # EXPLAIN plans statements, which must leave no trace.
        found = answer(self._context(self._sandbox().engine), statement, sql)
        if found is None:
            raise SqlError(f"Do not know how to execute this statement: {sql}")
        return found

    def _context(self, engine: Engine) -> Context:
        inside = self.inside
        return Context(
            engine,
            inside.cluster,
            inside.host,
            inside.state,
            inside.errors,
            self.overrides,
            self.variables,
            [RunningPush(run.id, run.sql) for run in inside.pushes.running()],
            inside.connect,
        )

    # Push queries

    def _is_push(self, query_id: str) -> bool:
        return any(run.id.upper() == query_id.upper() for run in self.inside.pushes.running())

    def _end_push(self, statement: ast.ControlQuery, sql: str) -> Entity | None:
        assert statement.query_id is not None
        for run in self.inside.pushes.running():
            if run.id.upper() == statement.query_id.upper():
                if statement.action is not ast.QueryAction.TERMINATE:
                    raise SqlError(f"Query {run.id} is a push query. It can only be terminated.")
                ended = self.inside.pushes.close(run.id)
                members = {"queryId": run.id, "wasTerminated": ended}
                return Entity("terminate_query", sql, members)
        return None

    # Commands

    def _command(self, parsed: ParsedStatement, sql: str) -> Entity:
        name = command_id(parsed.statement)
        for _ in range(_ATTEMPTS):
            try:
                written = self._write(parsed, sql)
            except Overtaken:
                continue
            if isinstance(written, Entity):
                return written
            offset, tried = written
            executor = self.inside.executor
            executor.wait_for(offset + 1, self.inside.command_timeout_s)
            status = executor.status_of(offset)
            if status.status == "SUCCESS":
                self._delete(tried)
            return Entity(
                "currentStatus",
                sql,
                {
                    "commandId": name,
                    "commandStatus": status.json(),
                    "commandSequenceNumber": offset,
                },
            )
        raise KsqlError(
            ErrorCode.SERVER_ERROR,
            "Other servers write commands all the time. Try again.",
            sql,
        )

    def _write(self, parsed: ParsedStatement, sql: str) -> Entity | tuple[int, Sandbox]:
        """Write a command, if there is something to do. Gives its offset, and where it was tried:
        that knows what is to be deleted when it is done."""
        inside = self.inside
        with inside.log.writing() as writer:
            self.wait_for(writer.end)
            sandbox = self._sandbox()
            warning = self._tried(parsed, sandbox)
            if warning is not None:
                return Entity("warning_entity", sql, {"message": warning})
            for topic in sandbox.topics.created:
                inside.cluster.topics.create(topic)
            if sandbox.registry is not None and inside.engine.registry is not None:
                for subject, schema in sandbox.registry.registered:
                    inside.engine.registry.register(subject, schema)
            seen = tuple(sandbox.topics.seen.values())
            text = _complete(parsed.statement, sandbox.engine) or sql
            offset = writer.append(Command(text, self.overrides, seen))
        return offset, sandbox

    def _delete(self, tried: Sandbox) -> None:
        for topic in tried.topics.deleted:
            self.inside.cluster.topics.delete(topic)
        registry = self.inside.engine.registry
        if tried.registry is not None and registry is not None:
            for subject in sorted(tried.registry.deleted):
                registry.delete(subject)

    def _tried(self, parsed: ParsedStatement, sandbox: Sandbox) -> str | None:
        """Why there is nothing to do; None if there is."""
        statement = parsed.statement
        if isinstance(statement, ast.ControlQuery):
            self._try_control(statement, sandbox.engine)
            return None
        outcome = sandbox.engine.execute(parsed, self.overrides)
        if isinstance(outcome, Done) and outcome.message.startswith("Cannot add"):
            return outcome.message
        return None

    def wait_for(self, offset: int) -> None:
        """Until all commands before an offset are executed. Raises KsqlError if that takes too
        long."""
        timeout_s = self.inside.command_timeout_s
        if not self.inside.executor.wait_for(offset, timeout_s):
            raise KsqlError(
                ErrorCode.COMMAND_QUEUE_CATCHUP_TIMEOUT,
                "Timed out while waiting for a previous command to execute. "
                f"command sequence number: {offset - 1}",
            )

    # ASSERT

    def _assert(
        self, parsed: ParsedStatement, statement: ast.AssertTopic | ast.AssertSchema, sql: str
    ) -> Entity:
        timeout = statement.timeout
        timeout_ms = _ASSERT_TIMEOUT_MS if timeout is None else timeout.milliseconds
        if timeout_ms > self.inside.assert_timeout_ms:
            raise SqlError(
                f"ASSERT may wait for {self.inside.assert_timeout_ms / 1000:g} seconds at most "
                f"({ASSERT_TIMEOUT})."
            )
        if not self.inside.asserts.take():
            raise KsqlError(
                ErrorCode.TOO_MANY_REQUESTS,
                f"{self.inside.asserts.most} ASSERT statements wait already. Try again.",
                sql,
            )
        try:
            return self._asserted(parsed, statement, sql, timeout_ms)
        finally:
            self.inside.asserts.leave()

    def _asserted(
        self,
        parsed: ParsedStatement,
        statement: ast.AssertTopic | ast.AssertSchema,
        sql: str,
        timeout_ms: int,
    ) -> Entity:
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            try:
                self._sandbox().engine.execute(parsed, self.overrides)
                break
            except SqlError as error:
                if time.monotonic() >= deadline:
                    raise KsqlError(ErrorCode.ASSERTION_FAILED, error.message, sql) from error
                time.sleep(_ASSERT_PAUSE_S)
        members: Mapping[str, Any]
        if isinstance(statement, ast.AssertTopic):
            members = {"topicName": statement.name, "exists": statement.exists}
            return Entity("assert_topic", sql, members)
        members = {
            "subject": statement.subject,
            "id": statement.id,
            "exists": statement.exists,
        }
        return Entity("assert_schema", sql, members)


def _complete(statement: ast.Statement, engine: Engine) -> str | None:
    """The text of a statement with the columns that it has left to the registry, if it has."""
    if not isinstance(statement, ast.CreateSource):
        return None
    complete = with_columns(statement, engine.metastore.get(statement.name))
    return None if complete is statement else format_statement(complete)


def shown(parsed: ParsedStatement) -> str:
    """The text of a statement, with values in the place of variables."""
    return format_statement(parsed.statement) if "${" in parsed.text else parsed.text
