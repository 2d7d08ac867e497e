"""Faults at named points: planned by a test, done by the worker process that gets there.

The engine calls `observe(slot, step)` in its workers. What is planned is a directory of files, one
for each fault, and the first of them is due next. Whoever manages to rename the file does it, so
that each is done once, whatever dies. Beside them, `log` tells what was done, and `trace` every
step.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from .processes import Process, kill

OBSERVER = "tests.chaos.faults:observe"
VARIABLE = "CHAOS_PLAN"
"""Names the directory of the plan, in the environment of the workers."""
DRIVER = "driver.pid"

STEPS = (
    "acquired",
    "positions-read",
    "restoring",
    "restored",
    "processed",
    "committed",
    "applied",
)
"""What the engine tells of: each of them has just ended, or is about to begin (`restoring`)."""


class Act(Enum):
    KILL = "kill"
    """This worker."""
    STOP = "stop"
    """This worker, until somebody lets it go on."""
    KILL_EXECUTOR = "kill-executor"
    """The JVM that this worker works for; on one machine, that is the driver's too."""
    KILL_DRIVER = "kill-driver"
    """The Python process in which the application was started."""


@dataclass(frozen=True)
class Fault:
    """`skip` the step so many times first, and do it only in `slot`, if one is given."""

    step: str
    act: Act = Act.KILL
    skip: int = 0
    slot: int | None = None

    def __str__(self) -> str:
        slot = "" if self.slot is None else f" in slot {self.slot}"
        return f"{self.act.value} at {self.step}{slot}"


class FaultPlan:
    """The faults of a run, in the order in which they are to happen."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def add(self, faults: Iterable[Fault]) -> None:
        planned = len(list(self.directory.glob("*.fault*")))
        for number, fault in enumerate(faults, planned):
            content = json.dumps({**asdict(fault), "act": fault.act.value})
            # Not visible before it is complete.
            unfinished = self.directory / f"{number:04d}.new"
            unfinished.write_text(content)
            unfinished.rename(self.directory / f"{number:04d}.fault")

    @property
    def pending(self) -> int:
        return len(list(self.directory.glob("*.fault")))

    @property
    def done(self) -> list[str]:
        """One line for each fault that was done."""
        log = self.directory / "log"
        return log.read_text().splitlines() if log.exists() else []

    def set_driver(self, pid: int) -> None:
        (self.directory / DRIVER).write_text(str(pid))

    def stopped(self) -> list[int]:
        """Workers that stopped themselves."""
        return [int(path.name) for path in self.directory.glob("stopped/*")]

    def go_on(self, pid: int) -> None:
        (self.directory / "stopped" / str(pid)).unlink()
        kill(pid, signal.SIGCONT)

    def forget(self) -> None:
        """Drop what has not been done."""
        for path in self.directory.glob("*.fault"):
            path.unlink(missing_ok=True)


def observe(slot: int, step: str) -> None:
    """Called by the engine in its workers."""
    plan = os.environ.get(VARIABLE)
    if plan is None:
        return
    me = f"slot {slot}, process {os.getpid()}"
    _note(Path(plan, "trace"), f"{step} ({me})")
    planned = sorted(name for name in os.listdir(plan) if name.endswith(".fault"))
    if not planned:
        return
    path = Path(plan, planned[0])
    try:
        form = json.loads(path.read_text())
    except FileNotFoundError:
        return  # another worker was faster
    fault = Fault(form["step"], Act(form["act"]), form["skip"], form["slot"])
    if fault.step != step or fault.slot not in (None, slot):
        return
    if fault.skip and _count(path.with_suffix(".seen")) <= fault.skip:
        return
    try:
        path.rename(path.with_suffix(".fault-done"))
    except FileNotFoundError:
        return
    _note(Path(plan, "log"), f"{fault} ({me})")
    _do(fault.act, Path(plan))


def _do(act: Act, plan: Path) -> None:
    me = os.getpid()
    if act is Act.KILL:
        os.kill(me, signal.SIGKILL)
    elif act is Act.STOP:
        (plan / "stopped").mkdir(exist_ok=True)
        (plan / "stopped" / str(me)).touch()
        os.kill(me, signal.SIGSTOP)
    elif act is Act.KILL_EXECUTOR:
        # The worker was forked by a daemon, which the JVM started.
        daemon = Process.read(os.getppid())
        assert daemon is not None
        kill(daemon.parent, signal.SIGKILL)
    elif act is Act.KILL_DRIVER:
        kill(int((plan / DRIVER).read_text()), signal.SIGKILL)


def _count(path: Path) -> int:
    """How often this was called for a path, by all processes."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(file, b".")
        return os.lseek(file, 0, os.SEEK_CUR)
    finally:
        os.close(file)


def _note(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(f"{time.time():.3f} {line}\n")
