"""The supervisor: keeps an application running until it is closed or can't go on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from enum import Enum

from headrace.app.handover import Handover
from headrace.app.housekeeping import Leftovers
from headrace.app.lifecycle import State
from headrace.app.nodes import Nodes
from headrace.app.observation import Observation
from headrace.app.retries import MOST_REPLACEMENTS, Retries
from headrace.app.succession import Succession
from headrace.app.watch import Watch
from headrace.app.worker_events import WorkerEvents
from headrace.core.clock import PacedClock
from headrace.core.errors import (
    BrokerError,
    FencedError,
    ProcessingError,
    SerializationError,
    StreamsError,
)
from headrace.engine.launch import Launch
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport, error_in
from headrace.engine.slot_runner import ClusterLost, SlotCluster, SlotRunner
from headrace.query.local_state import LocalState
from headrace.state.directory import StateDirectory

log = logging.getLogger("headrace")

_TICK_S = 0.2
_LOOK_FOR_TOPICS_S = 2.0
_FINISH_S = 15.0
"""So long a batch may take to its end when the application is closed."""
_QUIET_S = 2.0
"""After so long without a sign of life the runner is asked whether it has anything to do."""
_SILENCE_S = 30.0
"""After so long without a sign of life somebody is told."""


class StreamThreadExceptionResponse(Enum):
    """What to do after an error that nothing else has handled."""

    REPLACE_THREAD = "replace the thread"
    SHUTDOWN_CLIENT = "shut down this instance"
    SHUTDOWN_APPLICATION = "shut down the application"


ExceptionHandler = Callable[[Exception], StreamThreadExceptionResponse]


def shut_down(error: Exception) -> StreamThreadExceptionResponse:
    """The default."""
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT


class _Closing(Exception):
    """The application is being closed: whatever was under way is given up."""


class Supervisor:
    """One run of an application, in a thread of its own: attempts it, tries again, asks the
    handler."""

    def __init__(
        self,
        launch: Launch,
        cluster: SlotCluster,
        observed: Observation,
        events: WorkerEvents,
        handover: Handover,
        handler: ExceptionHandler,
        clock: PacedClock,
        closing: threading.Event,
    ) -> None:
        self.error: Exception | None = None
        self.plan: Plan | None = None
        self.local_state: LocalState | None = None
        """What queries read."""
        self._launch = launch
        self._kafka = launch.kafka
        self._cluster = cluster
        self._lifecycle = observed.lifecycle
        self._observed = observed
        self._events = events
        self._handover = handover
        self._handler = handler
        self._clock = clock
        self._closing = closing
        self._watch = Watch(launch, observed, clock)
        self._succession = Succession(launch, observed.progress, clock, self._must_stop)
        self._timeout_s = launch.config["task.timeout.ms"] / 1000
        self._retries = Retries(clock, self._timeout_s)
        self._resumed = threading.Event()
        self._resumed.set()
        self._is_rehearsed = False
        self._replan = False
        self._batch_error: Exception | None = None
        self._was_stopped = False
        """Whether slots have left rows of their batch."""
        self._thread = threading.Thread(target=self.run, name="headrace", daemon=True)

    @property
    def nodes(self) -> Nodes:
        """Where the state is."""
        return self._observed.nodes

    def prepare(self, check: Callable[[Plan], object]) -> None:
        """Raises what is wrong with the topics, the configuration or the topology, or what `check`
        raises of the plan."""
        self._lifecycle.move(State.REBALANCING)
        try:
            self.plan = self._launch.plan(cores=1)
            check(self.plan)
        except Exception as error:
            self._end(error)
            raise

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def stop(self, timeout_s: float | None) -> bool:
        """Whether it has ended within that time."""
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

    # Attempts

    def run(self) -> None:
        """Until it is closed, or an error ends it."""
        error: Exception | None = None
        try:
            self._succession.join()
            while not self._closing.is_set():
                if not self._clock.wait(self._resumed, _TICK_S):
                    assert self.plan is not None
                    self._watch.look_while_paused(self.plan)
                    continue
                error = self._attempt()
                if error is not None and (error := self._ends_it(error)) is not None:
                    break
        except Exception as unexpected:  # a handler that raises, for example
            error = unexpected
        self._end(error)

    def _attempt(self) -> Exception | None:
        """Run until something happens; None if that was asked for."""
        self._replan, self._batch_error, self._was_stopped = False, None, False
        self._events.stop_slots = False
        try:
            self._lifecycle.move(State.REBALANCING)
            plan = self._prepare()
            if not plan.inputs:
                self._wait_for_topics(plan)
                return None
            with ExitStack() as stack:
                runner = self._cluster.runner(plan, self._on_batch)
                stack.callback(runner.stop)
                self._run_slots(plan, runner)
        except Exception as error:
            return None if self._closing.is_set() else self._cluster.explain(error)
        return None

    def _prepare(self) -> Plan:
        cores = self._cluster.cores()
        assert self.plan is not None
        self._launch.has_changed(self.plan)  # raises if what is lost can't be mended
        self.plan = plan = self._launch.plan(cores)
        self._launch.wait_until_free(self._closing)
        self._observed.metrics.planned(plan)
        return plan

    def _wait_for_topics(self, plan: Plan) -> None:
        reason = "Waiting for a topic that matches a pattern: there is none yet."
        log.info("%s", reason)
        self._observed.progress.reason = reason
        while not self._must_stop() and not self._launch.has_changed(plan):
            self._clock.wait(self._closing, _LOOK_FOR_TOPICS_S)

    def _run_slots(self, plan: Plan, runner: SlotRunner) -> None:
        self._rehearse(plan, runner)
        if self._succession.wait(plan):
            return  # the plan may be an old one by now
        if self.local_state is None:
            # The start, and nobody else uses it any more.
            Leftovers(self._launch.config).remove_outdated()
        positions = self._launch.claim(plan)
        self._succession.claimed()
        self._handover.claimed(plan)
        self._watch.claimed()
        reports = self._warm_up(runner)
        if (error := error_in(reports)) is not None:
            raise error
        observed = self._observed
        observed.nodes.planned(plan)
        observed.nodes.ran(reports)
        observed.metrics.add(reports)
        observed.progress.positions.update(positions)
        runner.start(positions)
        if self.local_state is not None:
            self.local_state.close()
        self.local_state = LocalState(plan)
        observed.progress.reason = None
        self._lifecycle.move(State.RUNNING)
        self._supervise(plan, runner)

    def _rehearse(self, plan: Plan, runner: SlotRunner) -> None:
        """Before this instance is the next to run, and may end another: can it work at all?"""
        if self._is_rehearsed or not plan.config["__lease__"]:
            return
        if (error := error_in(self._warm_up(runner, rehearsal=True))) is not None:
            raise error
        self._is_rehearsed = True

    def _warm_up(self, runner: SlotRunner, *, rehearsal: bool = False) -> list[TaskReport]:
        self._events.heard()
        runner.warm_up(rehearsal=rehearsal)
        told = False
        while (reports := runner.warmed_up(_TICK_S)) is None:
            if self._closing.is_set():
                raise _Closing
            self._watch.look_at_claim()
            silent_s = self._events.silent_s
            if silent_s > self._timeout_s:
                raise StreamsError(f"{self._silence(silent_s)} (task.timeout.ms)")
            if silent_s > _SILENCE_S and not told:
                log.warning("%s", self._silence(silent_s))
                self._observed.progress.reason = self._silence(silent_s)
                told = True
        return reports

    def _silence(self, seconds: float) -> str:
        tasks = ", ".join(self._events.starting) or "none has begun"
        return (
            f"Starting the tasks has made no progress for {seconds:.0f} s (at work on: {tasks}). "
            "Does init() of a processor wait for something, or is Spark short of cores?"
        )

    def _supervise(self, plan: Plan, runner: SlotRunner) -> None:
        self._events.heard()
        must_end_at: float | None = None
        while not runner.wait(_TICK_S):
            if self._events.take_progress():
                self._retries.progressed()
            self._events.stop_slots = self._must_stop()
            if self._must_stop():
                if runner.is_idle:
                    return
                if self._closing.is_set():
                    must_end_at = must_end_at or self._clock.seconds() + _FINISH_S
                    if self._clock.seconds() > must_end_at:
                        log.warning(
                            "A batch is not finished %.0f s after the application was closed: it "
                            "is given up, and will be done again",
                            _FINISH_S,
                        )
                        return
            elif self._watch.look(plan, runner):
                self._replan = True
            self._check_silence(runner)
        error = self._batch_error
        if error is None and not self._must_stop() and not self._was_stopped:
            error = runner.failure()
        if error is not None:
            if not isinstance(error, ProcessingError | SerializationError):
                # Has somebody deleted a topic? Then that is what to tell.
                self._launch.has_changed(plan)
            raise error

    def _check_silence(self, runner: SlotRunner) -> None:
        """Raises BrokerError if a batch takes too long without a sign of life."""
        silent_s = self._events.silent_s
        if silent_s < min(_QUIET_S, self._timeout_s / 2):
            return
        if runner.is_idle:
            self._events.heard()
        elif silent_s > self._timeout_s:
            raise BrokerError(
                f"A batch has made no progress for {self._timeout_s:.0f} s (task.timeout.ms).",
                retriable=True,
            )

    def _on_batch(self, reports: list[TaskReport], milliseconds: float) -> bool:
        """In the runner's thread, after each batch: whether to go on."""
        self._events.heard()
        observed = self._observed
        self._batch_error = error_in(reports)
        self._was_stopped = not all(report.is_complete for report in reports)
        if self._batch_error is None:
            reports = [report for report in reports if report.task]
            if any(report.records for report in reports):
                self._retries.progressed()
            observed.nodes.ran(reports)
            observed.progress.add(reports, milliseconds)
            observed.metrics.add(reports)
        else:
            observed.progress.failed(reports)
        # After rows that were left, whoever runs the slots must begin with them.
        return self._batch_error is None and not self._must_stop() and not self._was_stopped

    def _must_stop(self) -> bool:
        return self._closing.is_set() or self.is_paused or self._replan

    # When something fails

    def _ends_it(self, error: Exception) -> Exception | None:
        """What the application ends with after an error; None if it is to be tried again."""
        if error is not self._batch_error:
            self._observed.progress.failed_with(error)
        if isinstance(error, BrokerError) and error.retriable and self._retries.bears():
            log.warning("%s Trying again.", error)
            self._observed.progress.reason = f"Trying again: {error}"
            unreachable = self._kafka.wait_for_kafka(error)
            if unreachable is None or self._closing.is_set():
                return None
            error = unreachable
        self._observed.metrics.slot_failed()
        if isinstance(error, FencedError):
            return error
        if isinstance(error, ClusterLost):
            log.warning("%s", error)
        elif self._handler(error) is StreamThreadExceptionResponse.REPLACE_THREAD:
            log.warning("Starting again after an error: %s", error)
        else:
            return error
        return None if self._may_begin_anew(error) else error

    def _may_begin_anew(self, error: Exception) -> bool:
        """Whether there was not too much of it; after a pause."""
        pause_s = self._retries.replacement_pause_s()
        if pause_s is None:
            log.error(
                "Started again %d times in a row without any progress: giving up. The last error "
                "was: %s",
                MOST_REPLACEMENTS,
                error,
            )
            return False
        self._clock.wait(self._closing, pause_s)
        return True

    def _end(self, error: Exception | None) -> None:
        self.error = error
        self._lifecycle.move(State.PENDING_SHUTDOWN if error is None else State.PENDING_ERROR)
        with ExitStack() as stack:
            # In the reverse order, and each whatever comes of the others.
            stack.callback(
                self._lifecycle.move, State.NOT_RUNNING if error is None else State.ERROR
            )
            stack.callback(self._kafka.close)
            stack.callback(self._cluster.close)
            stack.callback(StateDirectory.of(self._launch.config).sync)
            # The next instance can begin from here on.
            stack.callback(self._succession.close)
            if error is None:
                stack.callback(self._handover.run, self._cluster)
            if self.local_state is not None:
                stack.callback(self.local_state.close)
