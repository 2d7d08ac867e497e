"""KafkaStreams: an application, from start to close."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from headrace.app.lifecycle import Lifecycle, State, StateListener
from headrace.app.metadata import TaskMetadata, ThreadMetadata
from headrace.app.metrics import ApplicationMetrics
from headrace.app.restoration import Restoration, StateRestoreListener
from headrace.app.status import Progress, Status
from headrace.app.supervision import ExceptionHandler, Supervision, shut_down
from headrace.core.arguments import require_type
from headrace.core.config import StreamsConfig
from headrace.core.errors import StateError
from headrace.metrics.name import MetricName, MetricValue
from headrace.state.directory import StateDirectory
from headrace.topology.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class KafkaStreams:
    """Runs a topology against Kafka, on Spark.

        KafkaStreams(builder.build(), application_id="store",
                     bootstrap_servers="localhost:9092").run()

    Settings are keywords (`commit_interval_ms=100`), a mapping with Kafka Streams' keys, or both;
    `HEADRACE_…` variables of the environment fill in what isn't given. Without `spark`, a session
    of its own is made, with settings for small batches; a session that is given is used and left
    running.
    """

    def __init__(
        self,
        topology: Topology,
        config: Mapping[str, Any] | None = None,
        *,
        spark: SparkSession | None = None,
        **settings: Any,
    ) -> None:
        require_type(topology, Topology, "The topology", "Build it: builder.build().")
        self.topology = topology
        self.config = (
            config
            if isinstance(config, StreamsConfig) and not settings
            else StreamsConfig.load(config, **settings)
        )
        self.config.require("application.id", "bootstrap.servers")
        self._session = spark
        self._lifecycle = Lifecycle()
        self._progress = Progress()
        self._restoration = Restoration()
        self._metrics = ApplicationMetrics(
            topology, self.config, self._lifecycle, self._restoration
        )
        self._handler: ExceptionHandler = shut_down
        self._supervision: Supervision | None = None

    # Life

    def start(self) -> None:
        """Check the topics, make internal ones, and begin; the rest goes on in the background.

        Raises what is wrong with the configuration, the topology or the topics.
        """
        self._lifecycle.require(State.CREATED, "start()")
        self._supervision = Supervision(
            self.topology,
            self.config,
            self._session,
            self._lifecycle,
            self._progress,
            self._metrics,
            self._restoration,
            self._handler,
        )
        self._supervision.start()

    def run(self) -> None:
        """Start, and block until the application ends. SIGTERM and Ctrl-C close it cleanly.

        Raises the error that it ended with, if there is one.
        """
        asked = threading.Event()
        with _signals(asked.set):
            self.start()
            while not self._lifecycle.wait_for(State.NOT_RUNNING, State.ERROR, timeout_s=0.2):
                if asked.is_set():
                    self.close()
        if self.error is not None:
            raise self.error

    def close(self, timeout: timedelta | None = None) -> bool:
        """Finish the current batch and stop. Whether that was done within `timeout`."""
        self._lifecycle.move(State.PENDING_SHUTDOWN)
        if self._supervision is None:
            return self._lifecycle.move(State.NOT_RUNNING) or self.state.has_ended
        return self._supervision.stop(None if timeout is None else timeout.total_seconds())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def pause(self) -> None:
        """Stop processing after the current batch, until `resume`."""
        self._running().pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._running().resume()

    @property
    def is_paused(self) -> bool:
        """Whether `pause` was called, and not yet `resume`."""
        return self._supervision is not None and self._supervision.is_paused

    def clean_up(self) -> None:
        """Delete the local state of this application. Only before start, or after the end."""
        if self._lifecycle.state.is_running_or_rebalancing:
            raise StateError("clean_up() needs an application that doesn't run: close() it first.")
        StateDirectory.of(self.config).wipe()

    # Listeners

    def set_state_listener(self, listener: StateListener | None) -> None:
        """`listener(new, old)` is called at every change of state."""
        self._lifecycle.require(State.CREATED, "set_state_listener()")
        self._lifecycle.listener = listener

    def set_uncaught_exception_handler(self, handler: ExceptionHandler) -> None:
        """`handler(error)` says what to do. The default shuts this instance down."""
        self._lifecycle.require(State.CREATED, "set_uncaught_exception_handler()")
        self._handler = handler

    def set_global_state_restore_listener(self, listener: StateRestoreListener) -> None:
        """Have a listener told how far stores are on their way back from their changelogs."""
        self._lifecycle.require(State.CREATED, "set_global_state_restore_listener()")
        self._restoration.listener = listener

    # What is known

    @property
    def state(self) -> State:
        """What it is doing, in Kafka Streams' terms."""
        return self._lifecycle.state

    def wait_for(self, *states: State, timeout: timedelta | None = None) -> bool:
        """Whether one of these states was reached in time."""
        seconds = None if timeout is None else timeout.total_seconds()
        return self._lifecycle.wait_for(*states, timeout_s=seconds)

    @property
    def error(self) -> Exception | None:
        """What the application ended with."""
        return None if self._supervision is None else self._supervision.error

    def status(self) -> Status:
        """What it is doing now."""
        progress = self._progress
        return Status(
            state=self.state,
            tasks=dict(progress.tasks),
            records_total=progress.records,
            rate=progress.rate(),
            lag=progress.lag,
            batches=progress.batches,
            batch_ms=progress.batch_ms,
            dropped=self._metrics.dropped(progress.tasks),
            restoring=self._restoration.stores(),
            last_error=None if self.error is None else str(self.error),
        )

    def metrics(self) -> dict[MetricName, MetricValue]:
        """All metrics under Kafka Streams' names, as they are now (docs/metrics.md has the list).

        What was not measured lately is NaN, or a rate of 0.
        """
        return self._metrics.values()

    def metadata_for_local_threads(self) -> tuple[ThreadMetadata, ...]:
        """The slots, and which tasks and partitions each has."""
        plan = None if self._supervision is None else self._supervision.plan
        if plan is None:
            return ()
        return tuple(
            ThreadMetadata(
                f"{self.config.application_id}-{slot}",
                self.state,
                tuple(
                    TaskMetadata(str(task.id), tuple(sorted(task.inputs)))
                    for task in plan.tasks
                    if plan.slot_of[task.id] == slot
                ),
            )
            for slot in range(plan.slots)
        )

    def _running(self) -> Supervision:
        if self._supervision is None:
            raise StateError("The application has not been started: call start() first.")
        return self._supervision


@contextmanager
def _signals(close: Callable[[], None]) -> Iterator[None]:
    """Have SIGTERM and SIGINT call `close`. Only the main thread can; elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        close()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
