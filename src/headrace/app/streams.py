"""KafkaStreams: an application, from start to close."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from headrace.app.handover import Handover
from headrace.app.lifecycle import Lifecycle, State, StateListener
from headrace.app.metadata import (
    NO_HOST,
    HostInfo,
    KeyQueryMetadata,
    LagInfo,
    StreamsMetadata,
    TaskMetadata,
    ThreadMetadata,
)
from headrace.app.metrics import ApplicationMetrics
from headrace.app.nodes import Nodes
from headrace.app.observation import Observation
from headrace.app.places import ClusterPlaces
from headrace.app.restoration import Restoration, StateRestoreListener
from headrace.app.status import Progress, Status
from headrace.app.store_lags import store_lags
from headrace.app.supervisor import ExceptionHandler, Supervisor, shut_down
from headrace.app.worker_events import WorkerEvents
from headrace.core.arguments import require_type
from headrace.core.clock import SystemClock
from headrace.core.config import StreamsConfig
from headrace.core.errors import NotStartedError, RebalancingError, StateError, StoppedError
from headrace.core.record import TopicPartition
from headrace.engine.claim import instance_name
from headrace.engine.launch import Launch
from headrace.engine.plan import Plan
from headrace.kafka.clients import Clients
from headrace.kafka.positions import GroupReader
from headrace.kafka.settings import ClientSettings
from headrace.metrics.name import MetricName, MetricValue
from headrace.query.local_state import GLOBAL, LocalState
from headrace.query.request import StateQueryRequest, StateQueryResult, answer
from headrace.query.stores import ReadOnlyStore, check_type, type_of
from headrace.state.directory import StateDirectory
from headrace.topology.nodes import ProcessorNode
from headrace.topology.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.server.service import Service


S = TypeVar("S", bound=ReadOnlyStore)

log = logging.getLogger("headrace")

_LAG_PATIENCE_S = 5.0
_CLOSE_PATIENCE = timedelta(seconds=25)


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
        self._supervisor: Supervisor | None = None
        self._server: Service | None = None

    # Life

    def start(self) -> None:
        """Check the topics, make internal ones, and begin; the rest goes on in the background.
        With the setting `application.server`, HTTP requests are answered from now on.

        Raises what is wrong with the configuration, the topology or the topics.
        """
        self._lifecycle.require(State.CREATED, "start()")
        if self.config["application.server"] is not None:
            from headrace.server.service import Service

            self._server = Service(self)
        try:
            from headrace.spark.shipment import shipment

            self._supervisor = self._make_supervisor()
            self._supervisor.prepare(check=shipment)
            self._supervisor.start()
        except BaseException:
            self._close_server()
            raise

    def _make_supervisor(self) -> Supervisor:
        from headrace.spark.cluster import SparkCluster

        clock, closing = SystemClock(), threading.Event()
        settings = ClientSettings(self.config)
        observed = Observation(
            self._lifecycle,
            self._progress,
            self._metrics,
            self._restoration,
            Nodes(
                self.config["num.standby.replicas"], None if self._server is None else self._host()
            ),
        )
        events = WorkerEvents(observed, clock)
        return Supervisor(
            Launch(
                self.topology,
                self.config,
                Clients(settings.interrupted_by(closing)),
                instance_name(None if self._server is None else self._host().port),
            ),
            SparkCluster(self.config, self._session, events.on_event, self._node_program()),
            observed,
            events,
            Handover(lambda: Clients(settings)),
            self._handler,
            clock,
            closing,
        )

    def run(self) -> None:
        """Start, and block until the application ends. SIGTERM and Ctrl-C close it cleanly; a
        second one ends the process at once.

        Raises the error that it ended with, if there is one.
        """
        asked = threading.Event()
        with _signals(asked.set):
            self.start()
            while not self._lifecycle.wait_for(State.NOT_RUNNING, State.ERROR, timeout_s=0.2):
                if asked.is_set() and not self.close(_CLOSE_PATIENCE):
                    log.error(
                        "The application could not be closed within %d s: the process ends without "
                        "it. Nothing is lost: what was not committed is done again.",
                        _CLOSE_PATIENCE.seconds,
                    )
                    break
        self._close_server()
        if self.error is not None:
            raise self.error

    def close(self, timeout: timedelta | None = None) -> bool:
        """Finish the current batch and stop. Whether that was done within `timeout`."""
        self._lifecycle.move(State.PENDING_SHUTDOWN)
        if self._supervisor is None:
            return self._lifecycle.move(State.NOT_RUNNING) or self.state.has_ended
        done = self._supervisor.stop(None if timeout is None else timeout.total_seconds())
        self._close_server()
        return done

    def _node_program(self) -> str | None:
        """What is to look after the state of each host of a cluster."""
        if self._is_local() or not self.topology.stores:
            return None
        from headrace.server.node import PROGRAM

        return PROGRAM

    def _close_server(self) -> None:
        if self._server is not None:
            self._server.close()

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
        return self._supervisor is not None and self._supervisor.is_paused

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

    # Queries

    @overload
    def store(self, name: str, *, partition: int | None = None) -> Any: ...
    @overload
    def store(self, name: str, type: type[S], *, partition: int | None = None) -> S: ...
    def store(self, name: str, type: Any = None, *, partition: int | None = None) -> Any:
        """A store of this host to read, of all its partitions or one: what was last committed.

            streams.store("counts", ReadOnlyKeyValueStore).get("alice")

        Raises a StoreAccessError that says whether it may work later.
        """
        state = self.local_state()
        spec = state.spec(name)
        if type is None:
            type = type_of(spec)
        check_type(spec, type)
        return type(name, state.partitions(name, partition))

    def query(self, request: StateQueryRequest) -> StateQueryResult:
        """Ask the partitions of a store, each for itself."""
        return answer(self.local_state(), request)

    def local_state(self) -> LocalState:
        """The committed state that is on this host, for queries of your own.

        Raises a StoreAccessError that says whether it may work later.
        """
        state = self.state
        if state is State.CREATED:
            raise NotStartedError("The application has not been started: call start() first.")
        if state is State.REBALANCING:
            raise RebalancingError("The application is starting: its stores can be read soon.")
        local = None if self._supervisor is None else self._supervisor.local_state
        if state is not State.RUNNING or local is None:
            raise StoppedError(f"The application doesn't run any more: it is {state.name}.")
        return local

    def query_metadata_for_key(
        self, store: str, key: Any, serializer: Callable[[Any], bytes] | None = None
    ) -> KeyQueryMetadata:
        """Which instance has a key, and in which partition. Raises a StoreAccessError."""
        state = self.local_state()
        number = state.partition_of(store, key, serializer)
        if self.places is None or number == GLOBAL:
            return KeyQueryMetadata(self._host(), frozenset(), number)
        nodes = self._running().nodes
        task = str(state.partitions(store)[number].task)
        copies = frozenset(copy.host for copy in nodes.copies(task))
        return KeyQueryMetadata(nodes.active(task) or NO_HOST, copies, number)

    def metadata_for_all_streams_clients(self) -> tuple[StreamsMetadata, ...]:
        """The instances of the application: the nodes of a Spark cluster, or this one. None before
        the start."""
        plan = self.plan
        if plan is None:
            return ()
        if self.places is None:
            stores = frozenset(plan.topology.stores)
            return (StreamsMetadata(self._host(), stores, frozenset(plan.inputs)),)
        return tuple(
            StreamsMetadata(host, *_held(plan, active), *_held(plan, copied))
            for host, active, copied in self._running().nodes.tasks()
        )

    def all_local_store_partition_lags(self) -> dict[str, dict[int, LagInfo]]:
        """How far each store of this host is behind its changelog, by store and partition. Asks
        Kafka. Raises a StoreAccessError, or a BrokerError."""
        state, plan = self.local_state(), self.plan
        assert plan is not None
        settings = ClientSettings(self.config)
        with closing(GroupReader(settings, timeout_s=_LAG_PATIENCE_S)) as group:
            return store_lags(plan, state, self._restoration.stores(), group.end_offsets)

    def _host(self) -> HostInfo:
        return NO_HOST if self._server is None else HostInfo(*self._server.host_and_port)

    # What is known

    @property
    def plan(self) -> Plan | None:
        """The tasks, and what each reads; None before the start."""
        return None if self._supervisor is None else self._supervisor.plan

    @property
    def places(self) -> ClusterPlaces | None:
        """Where the partitions of stores are on a Spark cluster; None: all on this host."""
        if self._is_local():
            return None
        return ClusterPlaces(self.local_state, lambda: self._running().nodes)

    def _is_local(self) -> bool:
        if self._session is not None:
            return str(self._session.sparkContext.master).startswith("local")
        return self.config.spark_settings().get("spark.master", "local").startswith("local")

    @property
    def server_address(self) -> str | None:
        """Where HTTP requests are answered, as http://127.0.0.1:8080; None if nowhere."""
        return None if self._server is None else self._server.address

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
        return None if self._supervisor is None else self._supervisor.error

    def status(self) -> Status:
        """What it is doing now."""
        progress = self._progress
        rates, tasks = progress.rates(), dict(progress.tasks)  # others may be added meanwhile
        return Status(
            state=self.state,
            tasks=tasks,
            records_total=progress.records,
            rate=sum(rates.values()),
            lag=progress.lag,
            batches=progress.batches,
            batch_ms=progress.batch_ms,
            dropped=self._metrics.dropped(tasks),
            restoring=self._restoration.stores(),
            reason=progress.reason,
            last_error=None if self.error is None else str(self.error),
            positions=dict(progress.positions),
            ends=progress.ends,
            lags=progress.lags,
            task_records=dict(progress.task_records),
            task_rates=rates,
            failures=tuple(progress.failures),
        )

    def metrics(self) -> dict[MetricName, MetricValue]:
        """All metrics under Kafka Streams' names, as they are now (docs/metrics.md has the list).

        What was not measured lately is NaN, or a rate of 0.
        """
        return self._metrics.values()

    def metadata_for_local_threads(self) -> tuple[ThreadMetadata, ...]:
        """The slots, and which tasks and partitions each has."""
        plan = self.plan
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

    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise StateError("The application has not been started: call start() first.")
        return self._supervisor


def _held(plan: Plan, names: set[str]) -> tuple[frozenset[str], frozenset[TopicPartition]]:
    """The stores and the input partitions of some tasks."""
    tasks = [task for task in plan.tasks if str(task.id) in names]
    nodes = (plan.topology.nodes[name] for task in tasks for name in task.nodes)
    stores = {name for node in nodes if isinstance(node, ProcessorNode) for name in node.stores}
    return frozenset(stores), frozenset(part for task in tasks for part in task.inputs)


@contextmanager
def _signals(close: Callable[[], None]) -> Iterator[None]:
    """Have the first SIGTERM and SIGINT call `close`; a second one does what it always does. Only
    the main thread can; elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        close()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
