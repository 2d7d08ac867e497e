"""The succession: one instance runs an application, and others stand by."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing

from headrace.app.status import Progress
from headrace.core.clock import PacedClock
from headrace.engine.claim import host_of
from headrace.engine.launch import Instances, Launch
from headrace.engine.plan import Plan
from headrace.engine.standby import Standbys
from headrace.kafka.port import Lease
from headrace.state.directory import StateDirectory

log = logging.getLogger("headrace")

_LOOK_S = 0.5
_MOMENT_S = 0.01


class Succession:
    """An instance's place in it. It is kept for as long as the instance lives, so that others know
    of it; what keeps two from writing at once is the claim (ADR 6)."""

    def __init__(
        self,
        launch: Launch,
        progress: Progress,
        clock: PacedClock,
        must_stop: Callable[[], bool],
    ) -> None:
        self._launch = launch
        self._progress = progress
        self._clock = clock
        self._must_stop = must_stop
        self._takes_over: bool = launch.config["instance.takeover"]
        self._lease: Lease | None = None
        self._has_claimed = False

    def join(self) -> None:
        """Have others know of this instance."""
        if self._lease is None and self._launch.config["__lease__"]:
            self._lease = self._launch.kafka.lease(self._launch.instance)

    def wait(self, plan: Plan) -> bool:
        """Stand by as long as another instance runs the application, or is to run it next. Whether
        that took any time, or was interrupted."""
        self.join()
        if self._lease is None or self._has_claimed or self._takes_over:
            return False
        told: str | None = None
        with closing(self._copies(plan)) as copies:
            while not self._must_stop():
                instances = self._launch.instances(plan)
                # Who has the claim is waited for by all others, whoever of them has the lease.
                if instances.is_claimed_here or (
                    instances.running is None and self._lease.is_held()
                ):
                    self._progress.reason = None
                    return told is not None
                reason = _reason(instances)
                if reason is not None and reason != told:
                    log.info("%s", reason)
                    self._progress.reason = told = reason
                self._keep_up(copies)
        return True

    def _copies(self, plan: Plan) -> Standbys:
        """Of all tasks, if copies are asked for and the tasks are to run on this host."""
        config = plan.config
        copies = Standbys(plan, StateDirectory.of(config), self._launch.kafka, self._clock)
        is_local = config.spark_settings().get("spark.master", "local").startswith("local")
        if is_local and config["num.standby.replicas"] > 0:
            copies.keep(str(task.id) for task in plan.tasks)
        return copies

    def _keep_up(self, copies: Standbys) -> None:
        """Until it is time to look again."""
        until = self._clock.seconds() + _LOOK_S
        with closing(copies.follow()) as slices:
            for _ in slices:
                if self._clock.seconds() >= until or self._must_stop():
                    break
                self._clock.sleep(_MOMENT_S)
        self._clock.sleep(max(0.0, until - self._clock.seconds()))

    def claimed(self) -> None:
        """The application is this instance's: from now on it only renews its claim."""
        self._has_claimed = True

    def close(self) -> None:
        if self._lease is not None:
            self._lease.close()


def _reason(instances: Instances) -> str | None:
    """None if nobody else is there: it takes a moment to be known."""
    if instances.running is not None:
        return (
            f"Standing by: {host_of(instances.running)} runs the application. This instance takes "
            "over when that one ends; at once with instance.takeover=true (run --takeover)."
        )
    if instances.others:
        hosts = ", ".join(map(host_of, instances.others))
        return f"Standing by: {hosts} may run the application next."
    return None
