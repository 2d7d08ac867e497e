"""The workers of one of Spark's Python processes: one for each application that it has slots of."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from headrace.core.clock import SystemClock
from headrace.engine.plan import Plan
from headrace.engine.watchdog import Watchdog
from headrace.engine.worker import Worker
from headrace.kafka.clients import Clients
from headrace.kafka.settings import ClientSettings
from headrace.spark.events import Address, EventSender
from headrace.spark.node import NodeKeeper
from headrace.state.directory import StateDirectory

_UNUSED_S = 60.0
"""After so long, what an application has in memory here is given up: it has probably ended."""


class Setting(NamedTuple):
    """What a worker is told: the application, its plan as bytes and the plan's run, whom to tell
    of events, and the program of the node that serves the state of each host, if there is one."""

    application: str
    plan: bytes
    run: int
    events: Address
    node_program: str | None

    def load_plan(self) -> Plan:
        plan: Plan = pickle.loads(self.plan)  # noqa: S301, the driver's plan
        return plan


@dataclass
class _Entry:
    worker: Worker
    keeper: NodeKeeper | None
    used_at: float


class Workers:
    """Several applications may share a session, and so a process. The worker of an application
    lives from batch to batch, until another run of it comes."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def of(self, setting: Setting) -> Worker:
        now = time.monotonic()
        entry = self._entries.get(setting.application)
        if entry is None or entry.worker.plan.run != setting.run:
            self._close(setting.application)
            entry = self._entries[setting.application] = _make(setting, now)
        entry.used_at = now
        for name, other in list(self._entries.items()):
            if now - other.used_at > _UNUSED_S:
                self._close(name)
        if entry.keeper is not None:
            entry.keeper.look()
        return entry.worker

    def keep(self, application: str) -> None:
        """What the application has here, if anything, is not given up, though it is idle."""
        if (entry := self._entries.get(application)) is not None:
            entry.used_at = time.monotonic()

    def _close(self, application: str) -> None:
        entry = self._entries.pop(application, None)
        if entry is not None:
            entry.worker.close()


def _make(setting: Setting, now: float) -> _Entry:
    plan = setting.load_plan()
    directory = StateDirectory.of(plan.config)
    worker = Worker(
        plan,
        Clients(ClientSettings(plan.config)),
        directory,
        EventSender(*setting.events),
        SystemClock(),
    )
    if worker.record_limit_s < inf:
        worker.watchdog = Watchdog(worker.record_limit_s)
    keeper = None
    if setting.node_program is not None:
        keeper = NodeKeeper(directory, setting.node_program, setting.plan, setting.events)
        worker.node = keeper.name
    return _Entry(worker, keeper, now)
