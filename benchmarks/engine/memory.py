"""What the Python workers of a Spark application take, as Linux tells it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


class WorkerMemory(NamedTuple):
    """Megabytes."""

    peak: float
    """The most that was ever resident, files that are mapped included."""
    resident: float
    private: float
    """Of what is resident, that which isn't a mapped file."""


class _Process(NamedTuple):
    parent: int
    name: str


def workers(application: int, proc: Path = _PROC) -> list[WorkerMemory]:
    """The workers below this process: Python, forked by Spark's daemon, which is Python itself and
    a child of the JVM. The driver and the daemon don't count."""
    processes = _processes(proc)
    found = []
    for pid, process in sorted(processes.items()):
        daemon = processes.get(process.parent)
        jvm = daemon and processes.get(daemon.parent)
        if (
            daemon
            and jvm
            and jvm.name == "java"
            and daemon.name.startswith("python")
            and _is_below(processes, pid, application)
        ):
            memory = _memory(proc / str(pid))
            if memory:
                found.append(memory)
    return found


def _processes(proc: Path) -> dict[int, _Process]:
    processes = {}
    for directory in proc.iterdir():
        if directory.name.isdigit():
            fields = _fields(directory)
            if fields:
                processes[int(directory.name)] = _Process(int(fields["PPid"]), fields["Name"])
    return processes


def _is_below(processes: dict[int, _Process], pid: int, ancestor: int) -> bool:
    while pid in processes:
        pid = processes[pid].parent
        if pid == ancestor:
            return True
    return False


def _memory(directory: Path) -> WorkerMemory | None:
    fields = _fields(directory)
    if "VmRSS" not in fields:  # It is gone, or going.
        return None
    peak, resident, private = (
        int(fields[name].split()[0]) / 1024 for name in ("VmHWM", "VmRSS", "RssAnon")
    )
    return WorkerMemory(peak, resident, private)


def _fields(directory: Path) -> dict[str, str]:
    try:
        text = (directory / "status").read_text()
    except OSError:
        return {}
    return dict(re.findall(r"^(\w+):\s*(.*)$", text, re.MULTILINE))
