"""The supervisor, with a model of Kafka and slots that do as they are told."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace as replaced
from math import inf
from pathlib import Path
from typing import Any

import orjson
import pytest

from headrace import StreamsBuilder, StreamsConfig, StreamThreadExceptionResponse, serdes
from headrace.app import supervisor as supervisor_module
from headrace.app.handover import Handover
from headrace.app.lifecycle import Lifecycle, State
from headrace.app.metrics import ApplicationMetrics
from headrace.app.nodes import Nodes
from headrace.app.observation import Observation
from headrace.app.restoration import Restoration
from headrace.app.retries import MOST_REPLACEMENTS
from headrace.app.status import Progress
from headrace.app.supervisor import ExceptionHandler, Supervisor, shut_down
from headrace.app.worker_events import WorkerEvents
from headrace.core.clock import PacedClock
from headrace.core.errors import (
    BrokerError,
    FencedError,
    HeadraceError,
    ProcessingError,
    StreamsError,
)
from headrace.core.record import TopicPartition
from headrace.engine.identity import identity
from headrace.engine.launch import Launch
from headrace.engine.plan import Plan
from headrace.engine.report import Failure, TaskReport
from headrace.engine.slot_runner import STOP, ClusterLost, OnBatch
from headrace.kafka.port import Lease, Position, TopicSpec
from headrace.state.checkpoint import Checkpoint
from headrace.state.directory import StateDirectory
from tests.simulation.broker import Broker
from tests.simulation.clients import ModelKafka
from tests.simulation.clock import VirtualClock
from tests.simulation.network import GoodNetwork

DONE = TaskReport("0_0", 0, "host:1", records=5, positions={"in": {"0": 5}})
IDLE = TaskReport("0_0", 0, "host:1")


class Runner:
    """Does in each tick what the script says next; at its end it is idle."""

    def __init__(self, cluster: Cluster, on_batch: OnBatch) -> None:
        self._cluster = cluster
        self._on_batch = on_batch
        self._ended = False
        self.is_idle = True
        self.stopped = False

    def warm_up(self, *, rehearsal: bool = False) -> None:
        self._rehearses = rehearsal

    def warmed_up(self, timeout_s: float) -> list[TaskReport] | None:
        self._cluster.clock.sleep(timeout_s)
        return self._cluster.rehearsal if self._rehearses else self._cluster.warms_up()

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        self._cluster.started += 1

    def wait(self, timeout_s: float) -> bool:
        self._cluster.clock.sleep(timeout_s)
        if self._cluster.script:
            self._cluster.script.pop(0)(self)
        return self._ended

    def batch(self, *reports: TaskReport) -> None:
        if not self._on_batch(list(reports), 1.0):
            self._ended = True

    def completed(self) -> dict[TopicPartition, int]:
        return {}

    def failure(self) -> Exception:
        return StreamsError("it ended by itself")

    def stop(self) -> None:
        self.stopped = True


Action = Callable[[Runner], None]


class Cluster:
    def __init__(self, clock: PacedClock) -> None:
        self.clock = clock
        self.script: list[Action] = []
        self.runners: list[Runner] = []
        self.started = 0
        self.is_dead = False
        self.is_closed = False
        self.rehearsal = [IDLE]
        self.warms_up: Callable[[], list[TaskReport] | None] = lambda: [IDLE]

    def cores(self) -> int:
        self.is_dead = False
        return 1

    def runner(self, plan: Plan, on_batch: OnBatch) -> Runner:
        self.runners.append(Runner(self, on_batch))
        return self.runners[-1]

    def explain(self, error: Exception) -> Exception:
        return ClusterLost("Java is gone") if self.is_dead else error

    def hand_over(self, positions: Callable[[], Mapping[TopicPartition, Position]]) -> None:
        positions()

    def close(self) -> None:
        self.is_closed = True


class WatchedClock(VirtualClock):
    """Tells whenever somebody sleeps."""

    on_sleep: Callable[[float], None] | None = None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.on_sleep is not None:
            self.on_sleep(seconds)


class Application:
    """One application that counts nothing, with all its parts."""

    def __init__(self, state_dir: Path) -> None:
        self.clock = WatchedClock()
        self.broker = Broker(self.clock)
        self.broker.create([TopicSpec("in", 1), TopicSpec("out", 1)])
        self.cluster = Cluster(self.clock)
        self.closing = threading.Event()
        self.lifecycle = Lifecycle()
        self.progress = Progress()
        self.handler: ExceptionHandler = shut_down
        self._numbers = 0
        self.read("in")
        self._config = StreamsConfig(
            {
                "application.id": "app",
                "bootstrap.servers": "none:1",
                "state.dir": str(state_dir),
                "task.timeout.ms": 60_000,
            }
        )

    def set(self, key: str, value: object) -> None:
        self._config = StreamsConfig({**self._config.given(), key: value})

    def read(self, source: str | re.Pattern[str]) -> None:
        builder = StreamsBuilder()
        builder.stream(source).to("out")
        self.topology = builder.build()

    def supervisor(self) -> Supervisor:
        self._numbers += 1
        kafka = ModelKafka(self.broker, GoodNetwork(self.broker, self.clock), "app")
        restoration = Restoration()
        metrics = ApplicationMetrics(self.topology, self._config, self.lifecycle, restoration)
        observed = Observation(self.lifecycle, self.progress, metrics, restoration, Nodes(0, None))
        self.events = WorkerEvents(observed, self.clock)
        return Supervisor(
            Launch(self.topology, self._config, kafka, f"host-{self._numbers}/1"),
            self.cluster,
            observed,
            self.events,
            Handover(lambda: kafka),
            self.handler,
            self.clock,
            self.closing,
        )

    def is_taken_over(self, runner: Runner | None = None) -> None:
        self.other()

    def other(self) -> Lease:
        """Another instance runs the application."""
        launch = self.supervisor()._launch
        launch.claim(launch.plan(cores=1))
        return launch.kafka.lease(launch.instance)

    def run(self, supervisor: Supervisor | None = None) -> Supervisor:
        """From start to end, in this thread."""
        supervisor = supervisor or self.supervisor()
        supervisor.prepare(check=lambda plan: None)
        supervisor.run()
        assert all(runner.stopped for runner in self.cluster.runners)
        assert self.cluster.is_closed
        return supervisor

    def close(self, runner: Runner) -> None:
        self.closing.set()


@pytest.fixture
def application(tmp_path: Path) -> Application:
    return Application(tmp_path)


def replace(error: Exception) -> StreamThreadExceptionResponse:
    return StreamThreadExceptionResponse.REPLACE_THREAD


def batch(*reports: TaskReport) -> Action:
    return lambda runner: runner.batch(*reports)


def fails(error: Exception) -> Action:
    return batch(TaskReport("0_0", 0, "host:1", failure=Failure.of(error)))


def raises(error: Exception) -> Action:
    def action(runner: Runner) -> None:
        raise error

    return action


def test_it_runs_until_it_is_closed(application: Application) -> None:
    application.cluster.script = [batch(DONE), application.close]

    supervisor = application.run()

    assert supervisor.error is None
    assert application.lifecycle.state is State.NOT_RUNNING
    assert application.progress.records == 5


def test_slots_that_say_they_are_alive_are_told_to_stop(application: Application) -> None:
    said: list[Any] = []

    def sign_of_life(runner: Runner) -> None:
        runner.is_idle = False
        application.events.on_event(["alive"], said.append)

    def stopped(runner: Runner) -> None:
        runner.batch(replaced(DONE, is_complete=False))

    application.cluster.script = [
        sign_of_life,
        application.close,
        sign_of_life,
        sign_of_life,
        stopped,
    ]

    assert application.run().error is None
    assert said == [STOP, STOP]  # but not before
    assert application.progress.positions == {TopicPartition("in", 0): 5}


def test_after_rows_that_were_left_processing_begins_with_them(application: Application) -> None:
    """Whoever asked the slots to stop may have thought better of it."""
    left = replaced(DONE, is_complete=False)
    nothing_done = TaskReport("", 1, "host:2", is_complete=False)
    application.cluster.script = [batch(left, nothing_done), batch(DONE), application.close]

    assert application.run().error is None
    assert application.cluster.started == 2
    assert list(application.progress.tasks) == ["0_0"]


def test_what_is_committed_within_a_batch_is_progress(application: Application) -> None:
    def progresses(runner: Runner) -> None:
        runner.is_idle = False
        application.clock.sleep(50)
        application.events.on_event(["progressed", [["in", 0, 3]]], lambda message: None)

    application.cluster.script = [*[progresses] * 5, batch(IDLE), application.close]

    assert application.run().error is None
    assert application.progress.positions == {TopicPartition("in", 0): 3}


def test_that_kafka_is_away_is_said_while_nothing_comes(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    reasons: list[str | None] = []

    def away(runner: Runner) -> None:
        application.broker.down_until = inf
        application.clock.sleep(6)

    def back(runner: Runner) -> None:
        reasons.append(application.progress.reason)
        application.broker.down_until = 0
        application.clock.sleep(6)

    def told(runner: Runner) -> None:
        reasons.append(application.progress.reason)

    application.cluster.script = [batch(DONE), away, told, back, told, application.close]

    assert application.run().error is None
    assert reasons == ["Kafka at none:1 doesn't answer."] * 2 + [None]
    assert caplog.text.count("doesn't answer") == 1


def test_a_group_that_is_deleted_while_nothing_comes_is_named(application: Application) -> None:
    def deleted(runner: Runner) -> None:
        application.broker.group("app").offsets.clear()
        application.clock.sleep(6)

    application.cluster.script = [batch(DONE), deleted, application.close]

    with_loss = application.run().error
    assert "in-0 has no position any more" in str(with_loss)
    assert "`headrace reset`" in str(with_loss)


def test_a_listener_that_raises_keeps_nobody_from_running_or_ending(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    def listener(new: State, old: State) -> None:
        raise RuntimeError(f"I don't like {new.name}")

    application.lifecycle.listener = listener
    application.cluster.script = [batch(DONE), application.close]

    assert application.run().error is None
    assert application.lifecycle.state is State.NOT_RUNNING
    assert "I don't like RUNNING" in caplog.text


def test_what_fails_after_the_query_has_started_leaves_none_behind(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_state(plan: Plan) -> None:
        raise OSError("no more files")

    monkeypatch.setattr(supervisor_module, "LocalState", no_state)

    supervisor = application.run()

    assert isinstance(supervisor.error, OSError)
    assert application.cluster.started == 1
    assert application.lifecycle.state is State.ERROR


def test_replacing_takes_longer_each_time_and_has_an_end(application: Application) -> None:
    application.handler = replace
    application.cluster.script = [fails(ProcessingError("bad"))] * 1000

    supervisor = application.run()

    assert isinstance(supervisor.error, ProcessingError)
    assert application.cluster.started == MOST_REPLACEMENTS + 1
    assert 300 < application.clock.seconds() < 900


def test_progress_ends_a_row_of_replacements(application: Application) -> None:
    application.handler = replace
    row = [batch(DONE), fails(ProcessingError("bad"))]
    application.cluster.script = [*row * (3 * MOST_REPLACEMENTS), application.close]

    assert application.run().error is None


def test_passing_errors_are_borne_for_a_while_and_idling_is_no_progress(
    application: Application,
) -> None:
    idle_then_fail: list[Action] = [
        *[lambda runner: None] * 20,
        raises(BrokerError("away", retriable=True)),
    ]
    application.cluster.script = idle_then_fail * 1000

    supervisor = application.run()

    assert isinstance(supervisor.error, BrokerError)
    assert 60 < application.clock.seconds() < 120


def test_passing_errors_are_borne_for_ever_if_there_is_progress(application: Application) -> None:
    row = [batch(DONE), *[lambda runner: None] * 20, raises(BrokerError("away", retriable=True))]
    application.cluster.script = [*row * 100, application.close]

    assert application.run().error is None


def test_a_java_process_that_died_is_replaced_and_nobody_is_asked(
    application: Application,
) -> None:
    asked: list[Exception] = []

    def handler(error: Exception) -> StreamThreadExceptionResponse:
        asked.append(error)
        return StreamThreadExceptionResponse.SHUTDOWN_CLIENT

    def die(runner: Runner) -> None:
        application.cluster.is_dead = True
        raise ConnectionRefusedError("[Errno 111] Connection refused")

    application.handler = handler
    application.cluster.script = [batch(DONE), die, batch(DONE), application.close]

    assert application.run().error is None
    assert application.cluster.started == 2
    assert asked == []


def test_a_handler_that_raises_ends_it(application: Application) -> None:
    def handler(error: Exception) -> StreamThreadExceptionResponse:
        raise RuntimeError("the handler itself")

    application.handler = handler
    application.cluster.script = [fails(ProcessingError("bad"))]

    assert str(application.run().error) == "the handler itself"
    assert application.lifecycle.state is State.ERROR


def test_closing_interrupts_the_warm_up(application: Application) -> None:
    def never() -> None:
        if application.clock.seconds() > 5:
            application.closing.set()

    application.cluster.warms_up = never

    assert application.run().error is None
    assert application.lifecycle.state is State.NOT_RUNNING
    assert application.clock.seconds() < 10


def test_closing_gives_a_batch_some_time_but_not_for_ever(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    def go_on(runner: Runner) -> None:
        runner.is_idle = False
        application.events.heard()

    application.cluster.script = [go_on, application.close, *[go_on] * 1000]

    assert application.run().error is None
    assert 15 < application.clock.seconds() < 25
    assert "will be done again" in caplog.text


def test_who_starts_for_too_long_is_named(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    def never() -> None:
        if application.clock.seconds() < 1:
            application.events.on_event(["starting", 0, "0_0"], lambda message: None)

    application.cluster.warms_up = never

    error = application.run().error

    assert isinstance(error, StreamsError)
    assert "at work on: 0_0" in str(error)
    assert "init()" in str(error)
    (told,) = [record.message for record in caplog.records]
    assert "no progress for 30 s" in told
    assert application.progress.reason == told


def test_a_pattern_that_matches_nothing_yet_is_waited_for(application: Application) -> None:
    application.read(re.compile("later-.*"))
    application.cluster.script = [batch(DONE), application.close]
    reasons: list[str | None] = []

    def has_come(seconds: float) -> None:
        reasons.append(application.progress.reason)
        if application.clock.seconds() > 10 and "later-1" not in application.broker.topics():
            application.broker.create([TopicSpec("later-1", 1)])

    application.clock.on_sleep = has_come

    assert application.run().error is None
    assert application.progress.records == 5
    assert reasons[0] == "Waiting for a topic that matches a pattern: there is none yet."
    assert reasons[-1] is None


def test_closing_while_kafka_is_away(application: Application) -> None:
    def leave(runner: Runner) -> None:
        application.broker.down_until = float("inf")
        application.closing.set()
        raise BrokerError("away", retriable=True)

    application.cluster.script = [leave]

    assert application.run().error is None
    assert application.lifecycle.state is State.NOT_RUNNING


def test_failed_attempts_are_told(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(runner: Runner) -> None:
        event: list[Any] = ["attempt_failed", 0, "0_0", "LockError", "in use by process 7"]
        application.events.on_event(event, lambda message: None)

    application.cluster.script = [fail, application.close]
    application.run()

    assert "Slot 0 tries its batch again: in use by process 7" in caplog.text
    (seen,) = application.progress.failures
    assert (seen.kind, seen.task) == ("LockError", "0_0")


def test_what_is_wrong_at_the_start_is_raised(application: Application) -> None:
    supervisor = application.supervisor()

    def check(plan: Plan) -> None:
        raise HeadraceError("can't be sent")

    with pytest.raises(HeadraceError, match="can't be sent"):
        supervisor.prepare(check)

    assert application.lifecycle.state is State.ERROR


def test_an_idle_run_that_was_replaced_ends(application: Application) -> None:
    application.cluster.script = [application.is_taken_over]

    error = application.run().error

    assert isinstance(error, FencedError)
    assert "has started and took over" in str(error)
    assert application.clock.seconds() < 30


def test_a_run_that_was_replaced_while_it_warms_up_ends(application: Application) -> None:
    application.cluster.warms_up = application.is_taken_over

    assert isinstance(application.run().error, FencedError)
    assert application.clock.seconds() < 30


def test_a_paused_run_that_was_replaced_ends(application: Application) -> None:
    supervisor = application.supervisor()

    def pause(runner: Runner) -> None:
        supervisor.pause()
        application.is_taken_over()

    application.cluster.script = [pause]

    application.run(supervisor)

    assert isinstance(supervisor.error, FencedError)
    assert application.clock.seconds() < 30


def test_a_paused_run_keeps_its_positions(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor, clock = application.supervisor(), application.clock
    week_s = 7 * 24 * 3600.0

    def wait(event: threading.Event, seconds: float) -> bool:
        clock.sleep(60.0)
        application.broker.expire_offsets(week_s)
        if clock.seconds() > 2 * week_s:
            application.closing.set()
        return event.is_set()

    monkeypatch.setattr(clock, "wait", wait)
    application.cluster.script = [lambda runner: supervisor.pause()]

    application.run(supervisor)

    assert supervisor.error is None
    part = TopicPartition("in", 0)
    assert application.broker.committed("app", [part])[part].offset == 0


# Several instances


def stands_by(
    application: Application, then: Callable[[], object], other: Lease | None = None
) -> list[str | None]:
    """Runs the application beside another instance, which lives for 20 seconds and does something
    then. Gives what was told as the reason for waiting."""
    reasons: list[str | None] = []

    def look(seconds: float) -> None:
        reasons.append(application.progress.reason)
        assert application.cluster.started == 0 or application.progress.reason is None
        if application.clock.seconds() > 20:
            then()
        elif other is not None:
            other.is_held()  # its heart beats

    application.clock.on_sleep = look
    application.cluster.script = [batch(DONE), application.close]
    assert application.run().error is None
    return reasons


def test_a_second_instance_stands_by_until_the_first_ends(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    other = application.other()

    closed: list[float] = []

    def close() -> None:
        if not closed:
            assert application.lifecycle.state is State.REBALANCING
            other.close()
            closed.append(application.clock.seconds())

    reasons = stands_by(application, close, other)

    assert application.progress.records == 5
    said = "Standing by: host-1 runs the application."
    assert any(reason is not None and reason.startswith(said) for reason in reasons)
    assert [record.message.startswith(said) for record in caplog.records].count(True) == 1
    assert application.clock.seconds() - closed[0] < 5


def test_a_second_instance_takes_over_when_the_first_is_not_heard_of(
    application: Application,
) -> None:
    application.other()

    stands_by(application, lambda: None)

    assert 9 < application.clock.seconds() < 20


def test_who_took_over_at_once_is_waited_for_though_it_has_not_the_lease(
    application: Application,
) -> None:
    waiting = application.supervisor()
    waiting._succession.join()
    other = application.other()
    reasons = []

    def look(seconds: float) -> None:
        reasons.append(application.progress.reason)
        if application.clock.seconds() < 15:
            other.is_held()  # its heart beats

    application.clock.on_sleep = look
    application.cluster.script = [application.close]
    assert application.run(waiting).error is None
    assert any(reason is not None and "host-2 runs" in reason for reason in reasons)
    assert application.clock.seconds() > 20


def test_who_has_the_claim_goes_on_though_another_has_the_lease(application: Application) -> None:
    """The answer to its claim was lost: to wait for the other would be to wait for ever, as that
    one waits for who has the claim."""
    supervisor = application.supervisor()
    launch = supervisor._launch
    first = launch.kafka.lease("host-2/2")
    launch.claim(launch.plan(1))

    def beat(seconds: float) -> None:
        assert application.clock.seconds() < 60, "it stands by"
        first.is_held()

    application.clock.on_sleep = beat
    application.cluster.script = [batch(DONE), application.close]
    assert application.run(supervisor).error is None
    assert application.progress.records == 5


def test_taking_over_at_once(application: Application) -> None:
    application.set("instance.takeover", True)
    application.other()
    application.cluster.script = [batch(DONE), application.close]

    assert application.run().error is None
    assert application.clock.seconds() < 5


def test_closing_ends_the_standing_by(application: Application) -> None:
    other = application.other()

    def look(seconds: float) -> None:
        other.is_held()
        if application.clock.seconds() > 30:
            application.closing.set()

    application.clock.on_sleep = look
    assert application.run().error is None
    assert application.cluster.started == 0
    assert application.lifecycle.state is State.NOT_RUNNING


def test_who_stands_by_keeps_copies_if_they_are_asked_for(
    application: Application, tmp_path: Path
) -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string()).group_by_key().count("counts")
    application.topology = builder.build()
    application.set("num.standby.replicas", 1)
    other = application.other()
    changelog = TopicPartition("app-counts-changelog", 0)
    application.broker.append(changelog, [(b"k", bytes(8), 1, ())] * 3)

    def look(seconds: float) -> None:
        other.is_held()
        if application.clock.seconds() > 5:
            application.closing.set()

    application.clock.on_sleep = look
    supervisor = application.run()
    assert supervisor.plan is not None
    (task,) = supervisor.plan.tasks
    state = StateDirectory(tmp_path, "app").state(str(task.id), identity(supervisor.plan, task))
    state.acquire(0)
    assert state.checkpoint is not None
    reached = [offset for _, offset in state.checkpoint.changelogs.values()]
    state.close()
    assert reached == [3]


def test_an_instance_that_can_not_work_ends_nobody(application: Application) -> None:
    application.set("instance.takeover", True)
    other = application.supervisor()
    other.prepare(lambda plan: None)
    assert other.plan is not None
    other._launch.claim(other.plan)
    failure = Failure.of(ProcessingError("init() raised"))
    application.cluster.rehearsal = [TaskReport("0_0", 0, "host:1", failure=failure)]

    error = application.run().error

    assert isinstance(error, ProcessingError)
    assert application.cluster.started == 0
    other._launch.check_claim()


def test_outdated_state_goes_at_the_start_and_what_is_left_is_on_the_disk_at_the_end(
    application: Application, tmp_path: Path
) -> None:
    application.set("state.cleanup.dir.max.age.ms", 3_600_000)
    directory = StateDirectory(tmp_path, "app")
    for task in ("0_0", "0_1"):
        state = directory.state(task, task)
        state.acquire(0)
        state.commit(Checkpoint("run", 1), {})
        state.release()
    locks = {task: tmp_path / "app" / task / ".lock" for task in ("0_0", "0_1")}
    old = locks["0_1"].stat().st_mtime - 3_601
    os.utime(locks["0_1"], (old, old))
    left: list[str] = []
    application.cluster.script = [lambda runner: left.extend(directory.tasks()), application.close]

    application.run()

    assert left == ["0_0"]
    assert orjson.loads(locks["0_0"].read_bytes())["unsynced_boot"] is None
