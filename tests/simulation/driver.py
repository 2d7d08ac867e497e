"""A driver: the process that supervises an instance of the application."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headrace.app.handover import Handover
from headrace.app.lifecycle import Lifecycle, State
from headrace.app.metrics import ApplicationMetrics
from headrace.app.nodes import Nodes
from headrace.app.observation import Observation
from headrace.app.restoration import Restoration
from headrace.app.status import Progress
from headrace.app.supervisor import StreamThreadExceptionResponse, Supervisor
from headrace.app.worker_events import WorkerEvents
from headrace.core.record import TopicPartition
from headrace.engine.launch import Launch
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport, error_in
from headrace.engine.slot_runner import OnBatch
from headrace.kafka.port import Position

from .disk import Host
from .scheduler import Process
from .spark import Executors, Listener, SimulatedQuery

if TYPE_CHECKING:
    from .world import Version, World


class Driver(Process):
    """An instance of the application: the real supervisor, on a model of Spark."""

    def __init__(
        self, world: World, name: str, version: Version, hosts: list[Host], *, replaces: bool
    ) -> None:
        super().__init__(world.scheduler, name)
        self.version = version
        self.has_ended = False
        self.executors = Executors(world, name, hosts, Listener(self, self._hear))
        self._world = world
        self._replaces = replaces
        self._lifecycle = Lifecycle()
        self._closing = threading.Event()
        self._supervisor: Supervisor | None = None
        self.on_death.append(self.executors.lose)

    def start(self) -> None:
        self.scheduler.note(self.name, f"starts: {self.version}")
        self.scheduler.spawn(self, self._run)

    def close(self) -> None:
        """In order, as SIGTERM does it."""
        self.scheduler.note(self.name, "is to close")
        self._closing.set()

    @property
    def is_running(self) -> bool:
        return self.is_alive and self._lifecycle.state is State.RUNNING

    @property
    def plan(self) -> Plan | None:
        return None if self._supervisor is None else self._supervisor.plan

    @property
    def error(self) -> Exception | None:
        return None if self._supervisor is None else self._supervisor.error

    @property
    def has_lost_positions(self) -> bool:
        """Whether it has ended, and said that the application must be reset."""
        return self.has_ended and "`headrace reset`" in str(self.error)

    def _run(self) -> None:
        world, version = self._world, self.version
        config, topology = world.config(version), world.case.topology(version.extra)
        restoration = Restoration()
        metrics = ApplicationMetrics(topology, config, self._lifecycle, restoration)
        observed = Observation(self._lifecycle, Progress(), metrics, restoration, Nodes(0, None))
        self._events = WorkerEvents(observed, self.clock)
        self._supervisor = supervisor = Supervisor(
            Launch(topology, config, world.kafka(self), self.name),
            Cluster(world, self),
            observed,
            self._events,
            Handover(lambda: world.kafka(self)),
            self._handle,
            self.clock,
            self._closing,
        )
        try:
            supervisor.prepare(lambda plan: None)
            supervisor.run()
        except Exception as error:
            self.scheduler.note(self.name, f"could not start: {error!r}")
        self.scheduler.note(self.name, f"ends: {supervisor.error!r}")
        self.has_ended = True
        self.executors.lose()

    def _hear(self, event: list[Any], send: Callable[[Any], None]) -> None:
        self._events.on_event(event, send)

    def _handle(self, error: Exception) -> StreamThreadExceptionResponse:
        self.scheduler.note(self.name, f"handles {error!r}")
        if self._replaces:
            return StreamThreadExceptionResponse.REPLACE_THREAD
        return StreamThreadExceptionResponse.SHUTDOWN_CLIENT


class Cluster:
    """The model of Spark, as a supervisor has it."""

    def __init__(self, world: World, driver: Driver) -> None:
        self._world = world
        self._driver = driver

    def cores(self) -> int:
        return self._driver.version.slots

    def runner(self, plan: Plan, on_batch: OnBatch) -> SimulatedQuery:
        def observed(reports: list[TaskReport], milliseconds: float) -> bool:
            if error_in(reports) is None:
                self._world.reported(plan, reports)
            return on_batch(reports, milliseconds)

        self._world.planned(plan)
        return SimulatedQuery(self._world, self._driver, self._driver.executors, plan, observed)

    def explain(self, error: Exception) -> Exception:
        self._driver.scheduler.note(self._driver.name, f"attempt ended: {error!r}")
        return error

    def hand_over(self, positions: Callable[[], Mapping[TopicPartition, Position]]) -> None:
        """As `headrace.spark.handover`: by a producer that fences the first slot."""
        if not self._world.exactly_once:
            return
        kafka = self._world.kafka(self._driver)
        producer = kafka.producer(0)
        try:
            producer.open()
            producer.commit(kafka.group.group_metadata(), positions())
        finally:
            producer.close()

    def close(self) -> None: ...
