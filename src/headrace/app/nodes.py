"""Where the state of an application is: the hosts of a Spark cluster, what each has, and who keeps
a copy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

from headrace.app.metadata import HostInfo
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport
from headrace.engine.standby import changelogs

Send = Callable[[Any], None]


class Copy(NamedTuple):
    """A standby of a task, and how many records of its changelogs it has still to apply; None: it
    hasn't begun."""

    host: HostInfo
    lag: int | None


@dataclass
class _Node:
    address: HostInfo
    send: Send
    lags: dict[str, int | None] = field(default_factory=dict)
    """By task that it keeps a copy of."""


class Nodes:
    """Knows the nodes of an application by name: a node is a state directory of a host, with a
    process that serves it. Tells them who has which task, whenever that changes.

    Without nodes, as when Spark runs in one process, everything is on the driver's host.
    """

    def __init__(self, replicas: int, driver: HostInfo | None) -> None:
        self._replicas = replicas
        self._driver = driver
        self._lock = threading.Lock()
        self._nodes: dict[str, _Node] = {}
        self._active: dict[str, str] = {}
        self._stateful: frozenset[str] = frozenset()
        self._told: Any = None

    # What happens

    def planned(self, plan: Plan) -> None:
        """There is a new plan."""
        with self._lock:
            self._stateful = frozenset(str(t.id) for t in plan.tasks if changelogs(plan, t))
            tasks = {str(task.id) for task in plan.tasks}
            self._active = {task: name for task, name in self._active.items() if task in tasks}
            self._tell()

    def joined(self, name: str, address: HostInfo, send: Send) -> None:
        """There is a node, at NO_HOST if it answers no requests."""
        with self._lock:
            self._nodes[name] = _Node(address, send)
            self._told = None
            self._tell()

    def left(self, send: Send) -> list[str]:
        """A connection has ended, of a node or of somebody else. The nodes that are gone."""
        with self._lock:
            gone = [name for name, node in self._nodes.items() if node.send == send]
            for name in gone:
                del self._nodes[name]
            if gone:
                self._tell()
        return gone

    def ran(self, reports: Iterable[TaskReport]) -> None:
        """Tasks ran, each on a node."""
        with self._lock:
            for report in reports:
                if report.node is not None:
                    self._active[report.task] = report.node
            self._tell()

    def followed(self, name: str, lags: Mapping[str, int | None]) -> None:
        """How far a node's copies are behind."""
        with self._lock:
            if name in self._nodes:
                self._nodes[name].lags = dict(lags)

    # What is known

    @property
    def have_tasks(self) -> bool:
        """Whether tasks run on nodes, rather than on the driver's host."""
        with self._lock:
            return bool(self._active)

    @property
    def addresses(self) -> dict[str, HostInfo]:
        with self._lock:
            return {name: node.address for name, node in self._nodes.items()}

    def active(self, task: str) -> HostInfo | None:
        """Where a task has its state; None if no node has it, or none is reached."""
        with self._lock:
            node = self._nodes.get(self._active.get(task, ""))
            return None if node is None else node.address

    def copies(self, task: str) -> list[Copy]:
        """The standbys of a task, the least behind first."""
        with self._lock:
            found = [
                Copy(self._nodes[name].address, self._nodes[name].lags.get(task))
                for name in self._standbys().get(task, ())
            ]
        return sorted(found, key=lambda copy: float("inf") if copy.lag is None else copy.lag)

    def tasks(self) -> list[tuple[HostInfo, set[str], set[str]]]:
        """Of each node its address, the tasks that it has, and those of which it keeps a copy."""
        with self._lock:
            standbys = self._standbys()
            return [
                (
                    node.address,
                    {task for task, active in self._active.items() if active == name},
                    {task for task, names in standbys.items() if name in names},
                )
                for name, node in sorted(self._nodes.items())
            ]

    # Who keeps copies

    def _tell(self) -> None:
        standbys = self._standbys()
        message = {
            "driver": None if self._driver is None else [*self._driver],
            "active": dict(sorted(self._active.items())),
            "standby": {
                name: sorted(task for task, names in standbys.items() if name in names)
                for name in sorted(self._nodes)
            },
        }
        if message != self._told:
            self._told = message
            for node in list(self._nodes.values()):
                node.send(message)

    def _standbys(self) -> dict[str, list[str]]:
        """The nodes that keep copies of each task: others than the one that has it, and the same
        ones as long as nodes don't come or go."""
        return {
            task: sorted(
                (name for name in self._nodes if name != self._active.get(task)),
                key=lambda name: crc32(f"{task} {name}".encode()),
            )[: self._replicas]
            for task in sorted(self._stateful)
            if task in self._active
        }
