"""Runs queries on Spark: each is an application of its own, and all share one session."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.app.lifecycle import State
from headrace.app.streams import KafkaStreams
from headrace.core.config import StreamsConfig
from headrace.core.errors import HeadraceError, ProcessingError, SerializationError, StateError
from headrace.kafka.admin import Admin
from headrace.kafka.settings import ClientSettings
from headrace.ksql.cluster_store import ClusterStore
from headrace.ksql.configuration import service_id, streams_settings
from headrace.ksql.running import Find, Keys, QueryError, QueryState
from headrace.sql.queries import PersistentQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

_LOG = logging.getLogger("headrace.ksql")

_FIRST_PAUSE = "ksql.query.retry.backoff.initial.ms"
_LONGEST_PAUSE = "ksql.query.retry.backoff.max.ms"
_KEPT_ERRORS = "ksql.query.error.max.queue.size"
_LOOK = timedelta(seconds=0.5)
_STOP_S = 10.0
_CALM_S = 60.0
"""What runs so long has got over its error."""


class SparkRunner:
    """Runs queries on Spark. `settings` are those of the server's configuration: what isn't
    ksqlDB's own is given to every application.

    Without a session, one is made when the first query starts.
    """

    def __init__(self, settings: Mapping[str, Any], session: SparkSession | None = None) -> None:
        self._settings = dict(settings)
        self._session = session
        self._owns_session = session is None
        self._session_lock = threading.Lock()
        self._queries: dict[str, _Application] = {}
        self._ending: dict[str, _Application] = {}
        """Those that were stopped, but have not ended yet."""

    def start(self, query: PersistentQuery, *, paused: bool = False) -> None:
        before = self._queries.get(query.id) or self._ending.get(query.id)
        self._queries[query.id] = _Application(query, self._settings, self.session, before, paused)

    def stop(self, query_id: str, *, forget: bool) -> None:
        """A batch that takes long is not waited for: it ends in the background."""
        application = self._queries.pop(query_id, None)
        if application is None:
            return
        self._ending[query_id] = application

        def end() -> None:
            application.stop(forget=forget)
            if self._ending.get(query_id) is application:
                del self._ending[query_id]

        ending = threading.Thread(target=end, name=f"{query_id}-end", daemon=True)
        ending.start()
        ending.join(_STOP_S)

    def pause(self, query_id: str) -> None:
        self._queries[query_id].pause()

    def resume(self, query_id: str) -> None:
        self._queries[query_id].resume()

    def state(self, query_id: str) -> QueryState:
        return self._queries[query_id].state

    def errors(self, query_id: str) -> list[QueryError]:
        return list(self._queries[query_id].errors)

    def look_up(self, query_id: str, store: str, find: Find[T], keys: Keys = None) -> list[T]:
        application = self._queries.get(query_id)
        if application is None:
            raise StateError(f"Query {query_id} isn't running here.")
        return application.look_up(store, find, keys)

    def session(self) -> SparkSession:
        """The one that all applications share."""
        from headrace.spark.session import make_session

        with self._session_lock:
            if self._session is None:
                name = {"application.id": f"_confluent-ksql-{service_id(self._settings)}"}
                config = StreamsConfig({**streams_settings(self._settings), **name})
                self._session = make_session(config, _LOG.info)
            return self._session

    def close(self) -> None:
        running = list(self._queries.values())
        self._queries.clear()
        for application in running:
            application.ask_to_stop()
        for application in running:
            application.stop(forget=False)
        if self._session is not None and self._owns_session:
            with suppress(Exception):  # its Java process may be gone already
                self._session.stop()
            self._session = None


def application_settings(query: PersistentQuery, server: Mapping[str, Any]) -> dict[str, Any]:
    """What the application of a query is configured with."""
    # One server runs a query: the servers have a lease of their own.
    return {**streams_settings(server), **query.settings, "__lease__": False}


class _Application:
    """A query, in a thread that starts it again after errors."""

    def __init__(
        self,
        query: PersistentQuery,
        server: Mapping[str, Any],
        session: Callable[[], SparkSession],
        before: _Application | None,
        paused: bool,
    ) -> None:
        self._query = query
        self._settings = application_settings(query, server)
        self._session = session
        self._before = before
        self._pause_s = float(server.get(_FIRST_PAUSE, 15_000)) / 1000
        self._longest_pause_s = float(server.get(_LONGEST_PAUSE, 900_000)) / 1000
        self.errors: deque[QueryError] = deque(maxlen=int(server.get(_KEPT_ERRORS, 10)))
        self._failed = False
        self._paused = paused
        self._stopped = threading.Event()
        self._stopping = threading.Lock()
        self._streams: KafkaStreams | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=query.id, daemon=True)
        self._thread.start()

    @property
    def state(self) -> QueryState:
        if self._failed:
            return QueryState.ERROR
        return QueryState.PAUSED if self._paused else QueryState.RUNNING

    def pause(self) -> None:
        with self._lock:
            self._paused = True
            if self._streams is not None:
                self._streams.pause()

    def resume(self) -> None:
        with self._lock:
            self._paused = False
            if self._streams is not None:
                self._streams.resume()

    def look_up(self, store: str, find: Find[T], keys: Keys) -> list[T]:
        streams = self._streams
        if streams is None or streams.state is not State.RUNNING:
            raise StateError(
                f"Query {self._query.id} isn't ready to answer: it is starting, or its state is "
                "being restored. Try again."
            )
        if streams.places is not None:
            with closing(ClusterStore(streams, store)) as everywhere:
                return list(find(everywhere))
        state = streams.local_state()
        partitions = dict(state.partitions(store))
        found: list[T] = []
        if keys is not None and len(keys) == 1:
            # Who has written the topic may have had another idea of where the key belongs.
            likely = partitions.pop(state.partition_of(store, keys[0]))
            if found := likely.read(lambda opened: list(find(opened))):
                return found
        for partition in partitions.values():
            found += partition.read(lambda opened: list(find(opened)))
        return found

    def ask_to_stop(self) -> None:
        self._stopped.set()

    def stop(self, *, forget: bool) -> None:
        """End it, after the batch that is under way. Who asks for it a second time waits for the
        first: what is deleted must not be that of a query which has its name by then."""
        self._stopped.set()
        with self._stopping:
            self._thread.join()
            if forget:
                self._forget()

    # The thread

    def _run(self) -> None:
        if self._before is not None:
            self._before.stop(forget=False)
            self._before = None
        pause_s = self._pause_s
        while not self._stopped.is_set():
            began = time.monotonic()
            error = self._attempt()
            if error is None:
                return
            if time.monotonic() - began > _CALM_S:
                pause_s = self._pause_s
            _LOG.error("Query %s failed: %s", self._query.id, error)
            self.errors.append(QueryError(int(time.time() * 1000), str(error), _kind(error)))
            self._failed = True
            self._stopped.wait(pause_s)
            pause_s = min(2 * pause_s, self._longest_pause_s)

    def _attempt(self) -> Exception | None:
        """Run until it is stopped, or until an error, which is given."""
        streams: KafkaStreams | None = None
        try:
            config = StreamsConfig(self._settings)
            streams = KafkaStreams(self._query.topology, config, spark=self._session())
            streams.start()
            with self._lock:
                self._streams = streams
                if self._paused:
                    streams.pause()
            while not streams.wait_for(State.NOT_RUNNING, State.ERROR, timeout=_LOOK):
                if streams.state is State.RUNNING:
                    self._failed = False
                if self._stopped.is_set():
                    break
        except Exception as error:
            return error
        finally:
            with self._lock:
                self._streams = None
            if streams is not None:
                streams.close()
        return None if self._stopped.is_set() else streams.error or StateError("It has ended.")

    def _forget(self) -> None:
        try:
            self._clean_up()
        except HeadraceError as error:
            _LOG.warning("What query %s left could not be deleted: %s", self._query.id, error)

    def _clean_up(self) -> None:
        """Delete the state on disk, the topics and the group of an application."""
        config = StreamsConfig(self._settings)
        KafkaStreams(self._query.topology, config).clean_up()
        admin = Admin(ClientSettings(config))
        try:
            prefix = f"{self._query.application_id}-"
            admin.delete(name for name in admin.list_topics() if name.startswith(prefix))
            admin.delete_group(self._query.application_id)
        finally:
            admin.close()


def _kind(error: Exception) -> str:
    if isinstance(error, ProcessingError | SerializationError):
        return "USER"
    return "SYSTEM" if isinstance(error, HeadraceError) else "UNKNOWN"
