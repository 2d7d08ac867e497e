"""Runs push queries: the kernel in this process, for as long as somebody reads the rows."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from headrace.core.errors import HeadraceError
from headrace.core.record import TopicPartition
from headrace.ksql.cluster import Cluster
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.kernel import Kernel, partition_counts
from headrace.ksql.results import LIMIT_REACHED, QUERY_COMPLETED, Closed, ResultStream, Row
from headrace.sql.functions.sizes import weight
from headrace.sql.push.query import PushQuery

_LOG = logging.getLogger("headrace.ksql")
_POLL_S = 0.1


class PushRun:
    """A push query in a thread of its own. It waits when its reader does. If it `needs_keys`,
    records without one are passed over."""

    def __init__(
        self,
        query: PushQuery,
        sql: str,
        cluster: Cluster,
        settings: Mapping[str, Any],
        *,
        needs_keys: bool = False,
    ) -> None:
        self.id = query.id
        self.sql = sql
        self.rows: ResultStream[Row] = ResultStream(weigh=lambda row: weight(row.values))
        self._cluster = cluster
        self._left = query.limit
        self._needs_keys = needs_keys
        self._waiting: list[Row] = []
        partitions = partition_counts(cluster, query.source_topics)
        self._kernel = Kernel(query.topology(self._emit), settings, partitions, cluster.produce)
        # Known before the answer begins: what is produced after its header is in it.
        self._reader = cluster.read(self._positions(settings))
        self._thread = threading.Thread(target=self._run, name=query.id, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End it. Its reader sees that it is complete."""
        self.rows.finish(QUERY_COMPLETED)

    def _positions(self, settings: Mapping[str, Any]) -> dict[TopicPartition, int]:
        topics = {partition.topic for partition in self._kernel.inputs}
        earliest = settings.get("auto.offset.reset") == "earliest"
        offsets = self._cluster.begins(topics) if earliest else self._cluster.ends(topics)
        return {partition: offsets.get(partition, 0) for partition in self._kernel.inputs}

    def _emit(self, row: tuple[Any, ...], is_tombstone: bool) -> None:
        self._waiting.append(Row(row, is_tombstone))

    def _run(self) -> None:
        try:
            if self._left == 0:
                self.rows.finish(LIMIT_REACHED)
            while not self.rows.ended:
                records = self._reader.poll(_POLL_S)
                if self._needs_keys:
                    records = [record for record in records if record.key is not None]
                self._kernel.feed(records)
                self._kernel.tick()
                self._hand_over()
        except Closed:
            pass
        except HeadraceError as error:
            self.rows.fail(KsqlError(ErrorCode.SERVER_ERROR, str(error)))
        except Exception as error:
            _LOG.exception("Push query %s failed", self.id)
            message = f"The query failed ({type(error).__name__}). The server's log has more."
            self.rows.fail(KsqlError(ErrorCode.SERVER_ERROR, message))
        finally:
            self._reader.close()

    def _hand_over(self) -> None:
        waiting, self._waiting = self._waiting, []
        for row in waiting:
            self.rows.put(row)
            if self._left is not None:
                self._left -= 1
                if not self._left:
                    self.rows.finish(LIMIT_REACHED)
                    return


class PushQueries:
    """The push queries that run now."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: dict[str, PushRun] = {}
        self._beginning = 0
        self._lock = threading.Lock()

    def start(self, make: Callable[[], PushRun]) -> PushRun:
        """Make one, and run it. Raises KsqlError if there are too many already: then nothing is
        made."""
        with self._lock:
            if len(self._alive()) + self._beginning >= self._most:
                raise KsqlError(
                    ErrorCode.MAX_PUSH_QUERIES_EXCEEDED,
                    "Maximum number of push queries exceeded. "
                    f"There are {self._most} already (ksql.max.push.queries).",
                )
            self._beginning += 1
        try:
            run = make()
        finally:
            with self._lock:
                self._beginning -= 1
        with self._lock:
            self._running[run.id] = run
        run.rows.on_close(lambda: self._drop(run.id))
        run.start()
        return run

    def close(self, query_id: str) -> bool:
        """End a query. Whether there was one of that id."""
        run = self._forget(query_id)
        if run is not None:
            run.close()
        return run is not None

    def close_all(self) -> None:
        for run in self.running():
            self.close(run.id)

    def running(self) -> list[PushRun]:
        """Those that have not ended."""
        with self._lock:
            return self._alive()

    def _alive(self) -> list[PushRun]:
        for run in [run for run in self._running.values() if run.rows.ended]:
            del self._running[run.id]
        return list(self._running.values())

    def _drop(self, query_id: str) -> None:
        self._forget(query_id)

    def _forget(self, query_id: str) -> PushRun | None:
        with self._lock:
            return self._running.pop(query_id, None)
