"""Executes commands in the order of their log, and has queries run as they say."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headrace.core.errors import HeadraceError
from headrace.ksql.commands import Command, CommandLog, command_id
from headrace.ksql.failures import outage
from headrace.ksql.running import QueryError, Runner
from headrace.ksql.service import CommandStatus
from headrace.sql.engine import Done, Engine
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

    def __init__(self, below: Topics) -> None:
        self._below = below
        self._known: dict[str, TopicInfo] = {}

    def know(self, command: Command) -> None:
        self._known = {topic.name: topic for topic in command.topics}

    def find(self, name: str) -> TopicInfo | None:
        return self._known.get(name) or self._below.find(name)

    def create(self, topic: TopicInfo) -> None:
        """It is there."""

    def delete(self, name: str) -> None:
        """It will be gone."""

    def __iter__(self) -> Iterator[TopicInfo]:
        return iter(self._below)


class CommandExecutor:
    """Keeps an engine at what the log says, and a runner at what the engine has.

    `lock` is held while the engine changes: hold it to look at the engine.
    """

    def __init__(
        self, engine: Engine, topics: PlannedTopics, log: CommandLog, runner: Runner
    ) -> None:
        self.engine = engine
        self.lock = threading.RLock()
        self.paused: set[str] = set()
        self.statuses: dict[str, CommandStatus] = {}
        self.failure: Exception | None = None
        """Why no more commands are executed."""
        self.failed: dict[str, QueryError] = {}
        """Why queries could not even be started."""
        self._topics = topics
        self._log = log
        self._runner = runner
        self._reconciling = threading.Lock()
        self._running: dict[str, PersistentQuery] = {}
        self._leads = False
        self._position = 0
        self._next = 0
        self._waiting: deque[tuple[int, Command]] = deque()
        self._results: dict[int, CommandStatus] = {}
        self._moved = threading.Condition()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ksql-commands", daemon=True)

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
        with self.lock:
            self._leads = leads
        self._reconcile(forget=False)

    @property
    def leads(self) -> bool:
        return self._leads

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
        with self.lock:
            name, status = self._come_of(offset, command)
        self._reconcile(forget=True)
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
            self._topics.know(command)
            self.engine.number_next_query(offset)
            return name, self._done(parsed, command)
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

    def _done(self, parsed: ParsedStatement, command: Command) -> CommandStatus:
        statement = parsed.statement
        if isinstance(statement, ast.ControlQuery):
            return self._control(statement)
        outcome = self.engine.execute(parsed, command.properties)
        if isinstance(outcome, PersistentQuery):
            return CommandStatus("SUCCESS", f"Created query with ID {outcome.id}", outcome.id)
        assert isinstance(outcome, Done), "only statements without rows are commands"
        return CommandStatus("SUCCESS", outcome.message)

    def _control(self, statement: ast.ControlQuery) -> CommandStatus:
        act, message = self._action(statement.action)
        for query_id in controlled(statement, self.engine):
            act(query_id)
        return CommandStatus("SUCCESS", message)

    def _action(self, action: ast.QueryAction) -> tuple[Callable[[str], None], str]:
        match action:
            case ast.QueryAction.TERMINATE:
                return self.engine.terminate, "Query terminated."
            case ast.QueryAction.PAUSE:
                return self._pause, "Query paused."
            case ast.QueryAction.RESUME:
                return self._resume, "Query resumed."

    def _pause(self, query_id: str) -> None:
        self.paused.add(query_id)
        if query_id in self._running:
            self._runner.pause(query_id)

    def _resume(self, query_id: str) -> None:
        self.paused.discard(query_id)
        if query_id in self._running:
            self._runner.resume(query_id)

    def _reconcile(self, *, forget: bool) -> None:
        """Have those queries run that should. That may take a while, in which the engine can be
        looked at."""
        with self._reconciling:
            with self.lock:
                wanted = dict(self.engine.queries) if self._leads else {}
                self.paused &= self.engine.queries.keys()
                paused = set(self.paused)
            for query_id in list(self._running):
                if query_id not in wanted:
                    del self._running[query_id]
                    with self._noted(query_id):
                        self._runner.stop(query_id, forget=forget)
            for query_id, query in wanted.items():
                if self._running.get(query_id) is not query:
                    with self._noted(query_id):
                        self._runner.start(query, paused=query_id in paused)
                    self._running[query_id] = query

    @contextmanager
    def _noted(self, query_id: str) -> Iterator[None]:
        """Whatever happens to one query, the others are seen to."""
        self.failed.pop(query_id, None)
        try:
            yield
        except Exception as error:
            _LOG.exception("Query %s can't be started or stopped", query_id)
            self.failed[query_id] = QueryError(int(time.time() * 1000), str(error), "SYSTEM")


def controlled(statement: ast.ControlQuery, engine: Engine) -> list[str]:
    """The queries that a statement is about. Raises SqlError if there is none of its id."""
    if statement.query_id is None:
        # What keeps a source table ends with the table.
        queries = engine.queries.values()
        return [query.id for query in queries if query.kind is not QueryKind.CREATE_SOURCE]
    if statement.query_id not in engine.queries:
        raise SqlError(f"Unknown queryId: {statement.query_id}")
    return [statement.query_id]
