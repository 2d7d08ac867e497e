"""Executes commands in the order of their log, and has queries run as they say."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from headrace.core.errors import HeadraceError
from headrace.ksql.commands import Command, CommandLog, command_id
from headrace.ksql.failures import outage
from headrace.ksql.running import QueryError, Runner
from headrace.ksql.service import CommandStatus
from headrace.sql.engine import Done, Engine, Outcome
from headrace.sql.errors import SqlError
from headrace.sql.queries import PersistentQuery, QueryKind
from headrace.sql.syntax import ast
from headrace.sql.syntax.parser import ParsedStatement, parse
from headrace.sql.topics import TopicInfo, Topics

_LOG = logging.getLogger("headrace.ksql")
_POLL_S = 0.1
_PAUSE_S = 1.0

QUEUED = CommandStatus("QUEUED", "Statement written to command topic")


class PlannedTopics:
    """Topics as a command knew them. They are created and deleted by the server that writes a
    command, once, and not by all that execute it, again and again."""

    def __init__(self, command: Command, below: Topics) -> None:
        self._known = {topic.name: topic for topic in command.topics}
        self._below = below

    def find(self, name: str) -> TopicInfo | None:
        return self._known.get(name) or self._below.find(name)

    def create(self, topic: TopicInfo) -> None:
        """It is there."""

    def delete(self, name: str) -> None:
        """It will be gone."""

    def __iter__(self) -> Iterator[TopicInfo]:
        return iter(self._below)


@dataclass(frozen=True)
class Catalogue:
    """What commands have made. It never changes: with the next command there is another one, so
    that whoever reads it holds nobody up."""

    engine: Engine
    paused: frozenset[str] = frozenset()
    """The ids of queries."""


class CommandExecutor:
    """Keeps a catalogue at what the log says, and a runner at what the catalogue has."""

    def __init__(self, engine: Engine, topics: Topics, log: CommandLog, runner: Runner) -> None:
        self.catalogue = Catalogue(engine)
        self.statuses: dict[str, CommandStatus] = {}
        self.failure: Exception | None = None
        """Why no more commands are executed."""
        self.failed: dict[str, QueryError] = {}
        """Why queries could not even be started."""
        self._topics = topics
        self._log = log
        self._runner = runner
        self._reconciling = threading.Lock()
        self._running: dict[str, _Running] = {}
        self._leads = False
        self.leads = False
        """Whether this server runs the queries. It is true when they have been started."""
        self._position = 0
        self._next = 0
        self._waiting: deque[tuple[int, Command]] = deque()
        self._results: dict[int, CommandStatus] = {}
        self._moved = threading.Condition()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ksql-commands", daemon=True)

    @property
    def engine(self) -> Engine:
        """For those that only ask."""
        return self.catalogue.engine

    def start(self) -> None:
        """Execute all that is in the log by now, then what comes."""
        end = self._log.end()
        while self._position < end:
            self._read_on()
        self._thread.start()

    def close(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def lead(self, leads: bool) -> None:
        """Whether this server is the one that runs the queries."""
        self._leads = leads
        self.leads = self.leads and leads
        self._reconcile()
        self.leads = leads

    @property
    def position(self) -> int:
        """The offset of the next command."""
        return self._position

    def wait_for(self, offset: int, timeout_s: float) -> bool:
        """Until all commands before an offset are executed. Whether that came in time."""
        with self._moved:
            return self._moved.wait_for(lambda: self._position >= offset, timeout_s)

    def status_of(self, offset: int) -> CommandStatus:
        """What came of a command."""
        return self._results.get(offset, QUEUED)

    # How it works

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._read_on()

    def _read_on(self) -> None:
        try:
            self._read(_POLL_S)
            self.failure = None
        except Exception as error:
            # It may pass; and if this ended, nothing would be executed any more.
            if self.failure is None:
                _LOG.exception("Commands can't be read or executed at this moment")
            self.failure = error
            self._stopped.wait(_PAUSE_S)

    def _read(self, timeout_s: float) -> None:
        if not self._waiting:
            found, self._next = self._log.read(self._position, timeout_s)
            self._waiting.extend(found)
        while self._waiting:
            self._execute(*self._waiting[0])
            self._waiting.popleft()
        with self._moved:
            self._position = self._next
            self._moved.notify_all()

    def _execute(self, offset: int, command: Command) -> None:
        name, status = self._come_of(offset, command)
        self._reconcile()
        if name is not None:
            self.statuses[name] = status
        with self._moved:
            self._results[offset] = status
            self._results.pop(offset - 10_000, None)
            self._position = offset + 1
            self._moved.notify_all()

    def _come_of(self, offset: int, command: Command) -> tuple[str | None, CommandStatus]:
        """What came of a command, and its id. Raises BrokerError if it can't be executed now, but
        may be later: then all that follow must wait for it."""
        name = None
        try:
            (parsed,) = parse(command.statement)
            name = command_id(parsed.statement)
            return name, self._done(offset, parsed, command)
        except HeadraceError as error:
            passing = outage(error)
            if passing is not None:
                raise passing from error
            _LOG.warning("Command %d failed: %s", offset, error)
            message = error.message if isinstance(error, SqlError) else str(error)
            return name, CommandStatus("ERROR", message)
        except Exception as error:
            # Whatever a command does, those that follow are executed.
            _LOG.exception("Command %d failed", offset)
            return name, CommandStatus("ERROR", f"{type(error).__name__}: {error}")

    def _done(self, offset: int, parsed: ParsedStatement, command: Command) -> CommandStatus:
        """Execute it on a copy, which becomes the catalogue if nothing goes wrong."""
        draft = self.engine.copy(PlannedTopics(command, self._topics))
        draft.number_next_query(offset)
        paused = self.catalogue.paused
        if isinstance(parsed.statement, ast.ControlQuery):
            paused, status = self._control(parsed.statement, draft)
        else:
            status = _status(draft.execute(parsed, command.properties))
        self.catalogue = Catalogue(draft.copy(self._topics), paused.intersection(draft.queries))
        return status

    def _control(
        self, statement: ast.ControlQuery, draft: Engine
    ) -> tuple[frozenset[str], CommandStatus]:
        """Which queries are paused after it."""
        paused, ids = self.catalogue.paused, frozenset(controlled(statement, draft))
        match statement.action:
            case ast.QueryAction.TERMINATE:
                for query_id in ids:
                    draft.terminate(query_id)
                return paused, CommandStatus("SUCCESS", "Query terminated.")
            case ast.QueryAction.PAUSE:
                return paused | ids, CommandStatus("SUCCESS", "Query paused.")
            case ast.QueryAction.RESUME:
                return paused - ids, CommandStatus("SUCCESS", "Query resumed.")

    def _reconcile(self) -> None:
        """Have those queries run that should, and only what was dropped forgotten: a query that
        ends because this server no longer leads goes on elsewhere."""
        with self._reconciling:
            catalogue, leads = self.catalogue, self._leads
            known = catalogue.engine.queries
            for query_id in list(self._running):
                if not leads or query_id not in known:
                    del self._running[query_id]
                    self.failed.pop(query_id, None)
                    with self._noted(query_id):
                        self._runner.stop(query_id, forget=query_id not in known)
            for query_id, query in known.items() if leads else ():
                with self._noted(query_id):
                    self._bring_to(_Running(query, query_id in catalogue.paused))

    def _bring_to(self, wanted: _Running) -> None:
        query_id = wanted.query.id
        now = self._running.get(query_id)
        self._running[query_id] = wanted
        if now is None or now.query is not wanted.query:
            self.failed.pop(query_id, None)
            self._runner.start(wanted.query, paused=wanted.paused)
        elif wanted.paused and not now.paused:
            self._runner.pause(query_id)
        elif now.paused and not wanted.paused:
            self._runner.resume(query_id)

    @contextmanager
    def _noted(self, query_id: str) -> Iterator[None]:
        """Whatever happens to one query, the others are seen to."""
        try:
            yield
        except Exception as error:
            _LOG.exception("Query %s can't be started or stopped", query_id)
            self.failed[query_id] = QueryError(int(time.time() * 1000), str(error), "SYSTEM")


@dataclass(frozen=True)
class _Running:
    """What the runner was told of a query."""

    query: PersistentQuery
    paused: bool


def _status(outcome: Outcome) -> CommandStatus:
    if isinstance(outcome, PersistentQuery):
        return CommandStatus("SUCCESS", f"Created query with ID {outcome.id}", outcome.id)
    assert isinstance(outcome, Done), "only statements without rows are commands"
    return CommandStatus("SUCCESS", outcome.message)


def controlled(statement: ast.ControlQuery, engine: Engine) -> list[str]:
    """The queries that a statement is about. Raises SqlError if there is none of its id."""
    if statement.query_id is None:
        # What keeps a source table ends with the table.
        queries = engine.queries.values()
        return [query.id for query in queries if query.kind is not QueryKind.CREATE_SOURCE]
    if statement.query_id not in engine.queries:
        raise SqlError(f"Unknown queryId: {statement.query_id}")
    return [statement.query_id]
