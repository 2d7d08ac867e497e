"""Keeps an application's query running, until it is stopped or can't go on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from enum import Enum
from typing import TYPE_CHECKING, Any

from headrace.app.housekeeping import Housekeeping
from headrace.app.lifecycle import Lifecycle, State
from headrace.app.metadata import HostInfo
from headrace.app.metrics import ApplicationMetrics
from headrace.app.nodes import Nodes
from headrace.app.restoration import Restoration
from headrace.app.status import Progress
from headrace.core.config import StreamsConfig
from headrace.core.errors import BrokerError, FencedError, ProcessingError, SerializationError
from headrace.core.record import TopicPartition
from headrace.engine.claim import Claim
from headrace.engine.clients import Clients
from headrace.engine.launch import Launch
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport, error_in
from headrace.kafka.positions import GroupReader, Position
from headrace.kafka.settings import ClientSettings
from headrace.query.local_state import LocalState
from headrace.topology.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.spark.events import EventServer
    from headrace.spark.query import SlotQuery

log = logging.getLogger("headrace")

_TICK_S = 0.2
_LOOK_EVERY_S = 5.0
_HAND_OVER_S = 5.0
_POSITIONS_LAST_S = 6 * 3600.0
"""Kafka forgets what was committed long ago. To claim an application commits it again."""


class StreamThreadExceptionResponse(Enum):
    """What to do after an error that nothing else has handled."""

    REPLACE_THREAD = "replace the thread"
    SHUTDOWN_CLIENT = "shut down this instance"
    SHUTDOWN_APPLICATION = "shut down the application"


ExceptionHandler = Callable[[Exception], StreamThreadExceptionResponse]


def shut_down(error: Exception) -> StreamThreadExceptionResponse:
    """The default."""
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT


class Supervision:
    """One run of an application, in a thread of its own."""

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        session: SparkSession | None,
        lifecycle: Lifecycle,
        progress: Progress,
        metrics: ApplicationMetrics,
        restoration: Restoration,
        handler: ExceptionHandler,
        server: HostInfo | None,
    ) -> None:
        self.error: Exception | None = None
        self.plan: Plan | None = None
        self.local_state: LocalState | None = None
        """What queries read."""
        self.nodes = Nodes(config["num.standby.replicas"], server)
        self._config = config
        self._session = session
        self._owns_session = session is None
        self._lifecycle = lifecycle
        self._progress = progress
        self._metrics = metrics
        self._restoration = restoration
        self._handler = handler
        self._clients = Clients(ClientSettings(config))
        self._launch = Launch(topology, config, self._clients)
        self._events: EventServer | None = None
        self._closing = threading.Event()
        self._resumed = threading.Event()
        self._resumed.set()
        self._housekeeping = Housekeeping(config, self._clients)
        self._claimed_at = 0.0
        self._replan = False
        self._batch_error: Exception | None = None
        self._last_sign_of_life = time.monotonic()
        self._failing_since: float | None = None
        self._thread = threading.Thread(target=self._run, name="headrace", daemon=True)

    def start(self) -> None:
        """Raises what is wrong with the topics, the configuration or the topology."""
        from headrace.spark.shipment import shipment

        self._lifecycle.move(State.REBALANCING)
        try:
            self.plan = self._launch.plan(cores=1)
            shipment(self.plan)
        except Exception as error:
            self._end(error)
            raise
        self._thread.start()

    def stop(self, timeout_s: float | None) -> bool:
        self._closing.set()
        self._resumed.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def pause(self) -> None:
        self._resumed.clear()

    def resume(self) -> None:
        self._resumed.set()

    @property
    def is_paused(self) -> bool:
        return not self._resumed.is_set()

    # The thread

    def _run(self) -> None:
        error: Exception | None = None
        try:
            while not self._closing.is_set():
                self._resumed.wait()
                error = self._attempt()
                if error is not None and error is not self._batch_error:
                    self._progress.failed_with(error)
                if isinstance(error, BrokerError) and error.retriable:
                    error = self._after_waiting(error)
                if error is not None:
                    self._metrics.thread_failed()
                    if not self._goes_on(error):
                        break
                error = None
        except Exception as unexpected:  # a handler that raises, for example
            error = unexpected
        self._end(error)

    def _attempt(self) -> Exception | None:
        """Run until something happens; None if that was asked for."""
        try:
            self._lifecycle.move(State.REBALANCING)
            self._replan, self._batch_error = False, None
            query = self._prepare()
            try:
                self._watch(query)
            finally:
                query.stop()
        except Exception as error:
            return None if self._closing.is_set() else error
        return None

    def _prepare(self) -> SlotQuery:
        from headrace.spark.events import EventServer
        from headrace.spark.query import SlotQuery
        from headrace.spark.session import make_session, tuned

        if self._session is None:
            self._session = make_session(self._config, log.info)
        if self._events is None:
            host = self._session.conf.get("spark.driver.host") or "127.0.0.1"
            self._events = EventServer(host, self._on_event)
        cores = self._session.sparkContext.defaultParallelism
        self._check_topics()
        self.plan = plan = self._launch.plan(cores)
        self._launch.wait_until_free(self._closing)
        self._metrics.planned(plan)
        positions = self._launch.claim(plan)
        self._claimed_at = time.monotonic()
        query = SlotQuery(
            tuned(self._session, self._config), plan, self._events.address, self._on_batch
        )
        warmed_up = query.warm_up()
        if (error := error_in(warmed_up)) is not None:
            raise error
        self.nodes.planned(plan)
        self.nodes.ran(warmed_up)
        self._metrics.add(warmed_up)
        self._progress.positions.update(positions)
        query.start(positions)
        if self.local_state is not None:
            self.local_state.close()
        self.local_state = LocalState(plan)
        self._lifecycle.move(State.RUNNING)
        return query

    def _watch(self, query: SlotQuery) -> None:
        looked = time.monotonic()
        self._last_sign_of_life = looked
        timeout_s = self._config["task.timeout.ms"] / 1000
        while not query.wait(_TICK_S):
            now = time.monotonic()
            if self._must_stop() and query.is_idle:
                return
            if query.is_idle:
                self._last_sign_of_life, self._failing_since = now, None
            elif now - self._last_sign_of_life > timeout_s:
                raise BrokerError(
                    f"A batch has made no progress for {timeout_s:.0f} s (task.timeout.ms).",
                    retriable=True,
                )
            if now - looked > _LOOK_EVERY_S:
                self._look(query)
                looked = now
        error = self._batch_error
        if error is None and not self._must_stop():
            error = query.failure()
        if error is not None:
            if not isinstance(error, ProcessingError | SerializationError):
                # Has somebody deleted a topic? Then that is what to tell.
                self._check_topics()
            raise error

    def _on_batch(self, reports: list[TaskReport], milliseconds: float) -> bool:
        """In Spark's thread, after each batch: whether to go on."""
        self._last_sign_of_life = time.monotonic()
        self._batch_error = error_in(reports)
        if self._batch_error is None:
            self._failing_since = None
            self.nodes.ran(reports)
            self._progress.add(reports, milliseconds)
            self._metrics.add(reports)
        else:
            self._progress.failed(reports)
        return self._batch_error is None and not self._must_stop()

    def _on_event(self, event: list[Any], send: Callable[[Any], None]) -> None:
        match event:
            case ["node", name, host, port]:
                self.nodes.joined(name, HostInfo(host, port), send)
            case ["followed", name, lags, of_tasks, of_all]:
                self.nodes.followed(name, lags)
                self._metrics.followed(name, of_tasks, of_all)
            case ["gone"]:
                self._metrics.left(self.nodes.left(send))
            case ["alive"]:
                self._last_sign_of_life = time.monotonic()
            case _:
                self._last_sign_of_life = time.monotonic()
                self._restoration.on_event(event)

    def _check_topics(self) -> bool:
        """Whether the topics are no longer those of the plan. Raises if that can't be mended."""
        assert self.plan is not None
        return self._launch.has_changed(self.plan)

    def _must_stop(self) -> bool:
        return self._closing.is_set() or self.is_paused or self._replan

    # When something fails

    def _after_waiting(self, error: BrokerError) -> BrokerError | None:
        """What is left of an error that may pass: nothing, if Kafka is there again."""
        log.warning("%s Trying again.", error)
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        elif now - self._failing_since > self._config["task.timeout.ms"] / 1000:
            return error
        return self._clients.wait_for_kafka(error)

    def _goes_on(self, error: Exception) -> bool:
        """Whether to try again after an error."""
        if isinstance(error, FencedError):
            return False
        response = self._handler(error)
        if response is StreamThreadExceptionResponse.REPLACE_THREAD:
            log.warning("Starting again after an error: %s", error)
            self._closing.wait(_TICK_S)
            return True
        return False

    def _end(self, error: Exception | None) -> None:
        self.error = error
        if error is not None:
            self._lifecycle.move(State.PENDING_ERROR)
        else:
            self._lifecycle.move(State.PENDING_SHUTDOWN)
        if self.local_state is not None:
            self.local_state.close()
        if self._events is not None:
            self._events.close()
        if self._claimed_at and error is None:
            self._hand_over()
        if self._session is not None and self._owns_session:
            with suppress(Exception):  # its Java process may be gone already
                self._session.stop()
        self._clients.close()
        self._lifecycle.move(State.NOT_RUNNING if error is None else State.ERROR)

    def _hand_over(self) -> None:
        """Leave the positions so that Kafka Streams, too, can go on from them."""
        from headrace.spark.handover import write_positions

        plan, session = self.plan, self._session
        assert plan is not None
        assert session is not None
        settings = self._clients.settings

        def positions() -> Mapping[TopicPartition, Position]:
            with closing(Claim(settings, plan)) as claim:
                claim.check()
            with closing(GroupReader(settings, timeout_s=_HAND_OVER_S)) as group:
                return group.committed(plan.inputs)

        try:
            write_positions(session, settings, self._config.application_id, positions)
        except Exception as error:
            log.warning("Kafka Streams would not find the partition times: %s", error)

    # Now and then

    def _look(self, query: SlotQuery) -> None:
        """Lag, topics that have changed, records and directories that are no longer needed."""
        plan = self.plan
        assert plan is not None
        try:
            expiring = time.monotonic() - self._claimed_at > _POSITIONS_LAST_S
            if expiring or self._check_topics():
                self._replan = True
                return
            ends = self._clients.group.end_offsets(plan.inputs)
            self._progress.ends = ends
            known = self._progress.positions
            read = query.completed()
            # A partition may end in marks of transactions, behind the last record.
            lags = {
                part: max(0, end - max(known[part], read.get(part, 0)))
                for part, end in ends.items()
            }
            self._progress.lags = lags
            self._progress.lag = sum(lags.values())
            self._metrics.lag(lags)
            # Batches read what was committed before them too, and drop it: it must still be there.
            behind = {part: min(at, read[part]) for part, at in known.items() if part in read}
            self._housekeeping.run(plan, behind)
        except BrokerError as error:
            log.warning("%s", error)
