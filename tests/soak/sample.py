"""A sample: what the processes of an application hold at one moment, as Linux tells it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from tests.chaos.processes import of_session, python_workers

_PROC = Path("/proc")
_BLOCK = 512


def processes(session: int) -> dict[str, list[int]]:
    """The processes of the session that the driver began, by their part in it."""
    workers = {process.pid for process in python_workers(session)}
    parts: dict[str, list[int]] = {"driver": [session], "jvm": [], "workers": sorted(workers)}
    for process in of_session(session):
        if process.name == "java":
            parts["jvm"].append(process.pid)
    return parts


def held(parts: Mapping[str, Iterable[int]], proc: Path = _PROC) -> dict[str, float]:
    """Memory, file descriptors and threads of each part."""
    found: dict[str, float] = {}
    for part, pids in parts.items():
        for pid in pids:
            for what, value in _process(proc / str(pid)).items():
                name = f"{part} {what}"
                found[name] = found.get(name, 0.0) + value
    return found


def _process(directory: Path) -> dict[str, float]:
    """Nothing of one that is gone."""
    try:
        status = (directory / "status").read_text()
        descriptors = len(os.listdir(directory / "fd"))
    except OSError:
        return {}
    resident = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    threads = re.search(r"^Threads:\s+(\d+)", status, re.MULTILINE)
    if resident is None or threads is None:
        return {}
    return {
        "memory": float(resident[1]) * 1024,
        "descriptors": float(descriptors),
        "threads": float(threads[1]),
    }


def on_disk(directory: Path) -> dict[str, float]:
    """What the files of a directory take of the disk, and how many there are."""
    size = files = 0.0
    for parent, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(parent, name)).st_blocks * _BLOCK
                files += 1
    return {f"{directory.name} disk": size, f"{directory.name} files": files}
