"""Runs queries by the kernel in this process."""

from __future__ import annotations

import logging
import threading
import time
from typing import TypeVar

from headrace.core.errors import StateError
from headrace.core.record import TopicPartition
from headrace.ksql.cluster import Cluster
from headrace.ksql.kernel import Kernel, partition_counts
from headrace.ksql.running import Find, Keys, QueryError, QueryState
from headrace.sql.queries import PersistentQuery

T = TypeVar("T")

_LOG = logging.getLogger("headrace.ksql")
_POLL_S = 0.1
_IDLE_S = 0.005


class LocalRunner:
    """One thread for each query. State is kept in memory: a server that starts again begins
    anew. For tests, and for trying things out."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._queries: dict[str, _Running] = {}

    def start(self, query: PersistentQuery, *, paused: bool = False) -> None:
        before = self._queries.get(query.id)
        if before is not None:
            before.stop()
        self._queries[query.id] = _Running(query, self._cluster, before, paused)

    def stop(self, query_id: str, *, forget: bool) -> None:
        running = self._queries.pop(query_id, None)
        if running is not None:
            running.stop()

    def pause(self, query_id: str) -> None:
        self._queries[query_id].paused.set()

    def resume(self, query_id: str) -> None:
        self._queries[query_id].paused.clear()

    def state(self, query_id: str) -> QueryState:
        return self._queries[query_id].state

    def errors(self, query_id: str) -> list[QueryError]:
        return list(self._queries[query_id].errors)

    def look_up(self, query_id: str, store: str, find: Find[T], keys: Keys = None) -> list[T]:
        running = self._queries.get(query_id)
        if running is None:
            raise StateError(f"Query {query_id} isn't running.")
        return running.look_up(store, find)

    def wait_until_processed(self, timeout_s: float) -> bool:
        """Until all queries have read all that is in their topics, also what others wrote there.
        Whether they did so in time."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            # Twice: what was idle may have been given work by one that was looked at later.
            if self._is_idle() and self._is_idle():
                return True
            time.sleep(_IDLE_S)
        return False

    def _is_idle(self) -> bool:
        return all(
            running.state is not QueryState.RUNNING or running.has_read_all()
            for running in list(self._queries.values())
        )

    def close(self) -> None:
        for query_id in list(self._queries):
            self.stop(query_id, forget=False)


class _Running:
    """A query that runs in a thread of its own. It goes on where the one `before` has stopped."""

    def __init__(
        self,
        query: PersistentQuery,
        cluster: Cluster,
        before: _Running | None,
        paused: bool,
    ) -> None:
        self._query = query
        self._cluster = cluster
        self._lock = threading.Lock()
        self.paused = threading.Event()
        if paused:
            self.paused.set()
        self.errors: list[QueryError] = []
        topics = (*query.source_topics, query.sink_topic)
        partitions = partition_counts(cluster, [name for name in topics if name is not None])
        states = None if before is None else before._kernel.states
        self._kernel: Kernel = Kernel(
            query.topology, query.settings, partitions, cluster.produce, states
        )
        self._positions: dict[TopicPartition, int] = (
            self._begin() if before is None else before._positions
        )
        self._stopped = threading.Event()
        self._reader = cluster.read(self._positions)
        self._thread = threading.Thread(target=self._run, name=query.id, daemon=True)
        self._thread.start()

    def _begin(self) -> dict[TopicPartition, int]:
        topics = {partition.topic for partition in self._kernel.inputs}
        latest = self._query.settings.get("auto.offset.reset") == "latest"
        offsets = self._cluster.ends(topics) if latest else self._cluster.begins(topics)
        return {partition: offsets.get(partition, 0) for partition in self._kernel.inputs}

    @property
    def state(self) -> QueryState:
        if self.errors:
            return QueryState.ERROR
        return QueryState.PAUSED if self.paused.is_set() else QueryState.RUNNING

    def look_up(self, store: str, find: Find[T]) -> list[T]:
        with self._lock:
            return [found for each in self._kernel.stores(store) for found in find(each)]

    def has_read_all(self) -> bool:
        ends = self._cluster.ends({partition.topic for partition in self._positions})
        with self._lock:
            return all(ends.get(part, 0) <= at for part, at in self._positions.items())

    def stop(self) -> None:
        self._stopped.set()
        self._reader.close()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                records = self._reader.poll(_POLL_S)
                while self.paused.is_set() and not self._stopped.wait(_IDLE_S):
                    pass
                if self._stopped.is_set():
                    break
                with self._lock:
                    self._kernel.feed(records)
                    self._kernel.tick()
                    for record in records:
                        partition = TopicPartition(record.topic, record.partition)
                        self._positions[partition] = record.offset + 1
            self._kernel.close()
        except Exception as error:
            _LOG.exception("Query %s failed", self._query.id)
            self.errors.append(QueryError(int(time.time() * 1000), str(error)))
