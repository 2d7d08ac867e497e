"""What checksums of the state on disk cost, against the same work without them.

    python benchmarks/checksums.py [--records N] [--keys N] [--times N] [--json]

A task counts orders by customer, batch by batch, with its state on disk, as an engine has it: every
batch takes the state, processes, commits and lets go. It does so without checksums, with those of
pages that it has, and with checksums of values as they might be: each entry with a CRC-32 of its
key and value, made when it is written and compared when it is read. All take turns in this process,
and the best time of each is compared. Then the time that it takes to check all pages of the state.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zlib import crc32

from benchmarks.kernel import INPUT, count_topology, keep_freed_memory, orders
from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import TaskId
from headrace.runtime.columns import Columns
from headrace.runtime.task import StreamTask, TaskSpec
from headrace.state import Checkpoint, TaskState
from headrace.state.checksums import DATA_FILE, Checksums
from headrace.state.lmdb_map import LmdbMap

BATCH = 100_000
"""A share of `max.batch.records`, which is what a task gets of a backlog: when it counts."""
LIMIT = 1.05


@contextmanager
def without_checksums() -> Iterator[None]:
    with ExitStack() as stack:
        for name in ("begin", "finish", "check"):
            stack.enter_context(patch.object(Checksums, name, lambda *_, **__: None))
        yield


@contextmanager
def of_values() -> Iterator[None]:
    """Only for point lookups, which is all that counting needs."""
    stored, write = LmdbMap._stored, LmdbMap.write

    def checked(self: Any, key: bytes) -> bytes | None:
        found = stored(self, key)
        if found is None:
            return None
        value = found[:-4]
        if crc32(value, crc32(key)) != int.from_bytes(found[-4:], "big"):
            raise AssertionError(key)
        return value

    def summed(self: Any, *arguments: Any) -> None:
        changes = self._changes
        for key, value in changes.items():
            if value is not None:
                changes[key] = value + crc32(value, crc32(key)).to_bytes(4, "big")
        write(self, *arguments)

    with (
        without_checksums(),
        patch.object(LmdbMap, "_stored", checked),
        patch.object(LmdbMap, "write", summed),
    ):
        yield


@contextmanager
def of_pages() -> Iterator[None]:
    yield


def batches(records: int, keys: int) -> list[Columns]:
    found = orders(records, keys)
    ranges = (slice(at, at + BATCH) for at in range(0, records, BATCH))
    return [
        Columns(found.offsets[r], found.timestamps[r], found.keys[r], found.values[r])
        for r in ranges
    ]


class Counting:
    """A task with its state in a directory of its own."""

    def __init__(self, directory: Path, way: Callable[[], Any], all_keys: Columns) -> None:
        self.path = directory / way.__name__
        self._way = way
        self._state = TaskState(self.path, "bench")
        self._number = 0
        with way():
            self._state.acquire(0)
            topology = count_topology()
            nodes = tuple(topology.nodes)
            config = StreamsConfig({"application.id": "bench"})
            spec = TaskSpec(TaskId(0, 0), topology, nodes, {INPUT: nodes[0]}, config)
            self._task = StreamTask(spec, ManualClock(0), storage=self._state)
            self._state.release()
            self._batch(all_keys)

    def run(self, work: list[Columns]) -> float:
        with self._way():
            began = time.process_time()
            for columns in work:
                self._batch(columns)
            return time.process_time() - began

    def _batch(self, columns: Columns) -> None:
        self._state.acquire(0)
        self._task.process_columns(INPUT, columns)
        self._task.commit()
        self._task.take_outbox()
        self._number += 1
        self._state.commit(Checkpoint("bench", self._number), self._task.facts())
        self._state.release()

    def close(self) -> None:
        self._state.release()


def measure(directory: Path, records: int, keys: int, times: int) -> dict[str, float]:
    """Seconds of the fastest run of each way."""
    everyone = [b"customer-%07d" % number for number in range(keys)]
    filling = Columns(range(keys), [0] * keys, everyone, [b"0"] * keys)
    work = batches(records, keys)
    ways = [Counting(directory, way, filling) for way in (without_checksums, of_pages, of_values)]
    best = dict.fromkeys((way.path.name for way in ways), float("inf"))
    for _ in range(times):
        for way in ways:
            best[way.path.name] = min(best[way.path.name], way.run(work))
    for way in ways:
        way.close()
    return best


def seconds_to_check(path: Path) -> float:
    began = time.process_time()
    Checksums(path).check(thorough=True)
    return time.process_time() - began


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--records", type=int, default=200_000)
    arguments.add_argument("--keys", type=int, default=300_000)
    arguments.add_argument("--times", type=int, default=5)
    arguments.add_argument("--json", action="store_true", help="a line of JSON at the end")
    options = arguments.parse_args()
    keep_freed_memory()
    directory = Path(tempfile.mkdtemp(prefix="headrace-checksums-"))
    try:
        best = measure(directory, options.records, options.keys, options.times)
        size = (directory / "of_pages" / DATA_FILE).stat().st_size
        checking = seconds_to_check(directory / "of_pages")
    finally:
        shutil.rmtree(directory)
    without = best["without_checksums"]
    ratios = {name: seconds / without for name, seconds in best.items()}
    print(f"{'':20} {'a second':>10} {'ratio':>7}")
    for name, seconds in best.items():
        print(f"{name:20} {options.records / seconds:>10,.0f} {ratios[name]:>7.3f}")
    print(f"{size / 1e6 / checking:,.0f} MB a second are checked")
    if options.json:
        print(json.dumps({"ratios": ratios, "checked_mb_s": size / 1e6 / checking}))
    if ratios["of_pages"] > LIMIT:
        raise SystemExit(f"Checksums cost more than {LIMIT - 1:.0%}")


if __name__ == "__main__":
    main()
