"""What state on disk costs, against a plain dict in the same run.

    python benchmarks/state.py [--keys N] [--directory DIR] [--json]

A store of N keys (a million, unless said otherwise) is restored from its changelog and committed in
batches, as an engine does it; then read, written, scanned and committed. Figures are processor
time, the best of several runs. The memory is what a process needs for batches that each change half
a million keys, at random: what is left of it after a batch, and at most.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import random
import shutil
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import TaskId
from headrace.metrics.task import TaskMetrics
from headrace.runtime.context import TaskContext
from headrace.runtime.stores import RecordCache, StoreEnvironment, build_store
from headrace.serdes import long, string
from headrace.state import Checkpoint, TaskState
from headrace.topology.stores import KeyValueStoreSpec

BATCH = 250_000
SPEC = KeyValueStoreSpec(
    name="counts", key_serde=string(), value_serde=long(), timestamped=True, logging=True
)
CHECKPOINT = Checkpoint("bench", 1)


@dataclass(frozen=True)
class Row:
    name: str
    dict_us: float | None
    state_us: float
    per_second: int


def changelog(keys: int) -> list[tuple[bytes, bytes, int, tuple[()]]]:
    """One record for each key, in no order, as a compacted changelog has them."""
    numbers = list(range(keys))
    random.Random(7).shuffle(numbers)
    return [(b"customer-%07d" % n, struct.pack(">q", n), n, ()) for n in numbers]


def make_store(state: TaskState) -> Any:
    context = TaskContext(TaskId(0, 0), StreamsConfig(), ManualClock(0), TaskMetrics())
    return build_store(
        SPEC,
        StoreEnvironment(
            context=context,
            resolve_serde=lambda serde, role: serde,  # type: ignore[arg-type, return-value]
            log=lambda *record: None,
            cache=RecordCache(0, context),
            storage=state,
        ),
    )


def seconds(work: Callable[[], object], times: int) -> float:
    """Of the fastest run."""
    best = float("inf")
    for _ in range(times):
        gc.collect()
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


class Bench:
    """A state with a store in it, and the same in a dict."""

    def __init__(self, directory: Path, keys: int, times: int) -> None:
        self.times = times
        self.records = changelog(keys)
        self.plain: dict[bytes, bytes] = {}
        self.state = TaskState(directory / "0_0", "bench")
        self.state.acquire(0)
        self.store = make_store(self.state)
        self.map = self.state.map(SPEC.name)
        chance = random.Random(11)
        self.some = [chance.choice(self.records)[0] for _ in range(min(keys, 500_000))]

    def rows(self) -> Iterator[Row]:
        yield self._row("restore and commit", len(self.records), self._fill_dict, self._restore, 1)
        yield self._row("get", len(self.some), self._get_dict, self._get)
        yield self._row("put", len(self.some), self._put_dict, self._put)
        yield self._row("get what was put", len(self.some), self._get_dict, self._get)
        yield self._row("put and commit", len(self.some), self._put_dict, self._put_and_commit)
        yield self._row("scan", len(self.records), self._scan_dict, self._scan)
        yield self._row("scan of one key", 100_000, None, self._scan_each)
        yield self._row("commit of one key", 300, None, self._small_commits)
        yield self._row("release and acquire", 300, None, self._turns)

    def _row(
        self,
        name: str,
        operations: int,
        with_dict: Callable[[], object] | None,
        with_state: Callable[[], object],
        times: int | None = None,
    ) -> Row:
        times = times or self.times
        plain = None if with_dict is None else seconds(with_dict, times) / operations * 1e6
        state = seconds(with_state, times) / operations
        return Row(name, plain, state * 1e6, round(1 / state))

    def _fill_dict(self) -> None:
        self.plain = {key: struct.pack(">q", at) + value for key, value, at, _ in self.records}

    def _restore(self) -> None:
        for first in range(0, len(self.records), BATCH):
            self.store.restore(self.records[first : first + BATCH])
            self.state.commit(CHECKPOINT, {})

    def _get_dict(self) -> None:
        get = self.plain.get
        for key in self.some:
            get(key)

    def _get(self) -> None:
        get = self.map.get
        for key in self.some:
            get(key)

    def _put_dict(self) -> None:
        for key in self.some:
            self.plain[key] = b"0123456789abcdef"

    def _put(self) -> None:
        put = self.map.put
        for key in self.some:
            put(key, b"0123456789abcdef")

    def _put_and_commit(self) -> None:
        self._put()
        self.state.commit(CHECKPOINT, {})

    def _scan_dict(self) -> int:
        return sum(1 for _ in sorted(self.plain.items()))

    def _scan(self) -> int:
        return sum(1 for _ in self.map.range(None, None))

    def _scan_each(self) -> None:
        for key in self.some[:100_000]:
            next(self.map.range(key, key))

    def _small_commits(self) -> None:
        for number in range(300):
            self.map.put(b"one", b"%d" % number)
            self.state.commit(CHECKPOINT, {})

    def _turns(self) -> None:
        for _ in range(300):
            self.state.release()
            self.state.acquire(0)


def memory(directory: Path, keys: int) -> dict[str, float]:
    """Megabytes of a process that works with the store that is there."""
    before = _resident("VmRSS")
    state = TaskState(directory / "0_0", "bench")
    chance = random.Random(5)
    for _ in range(3):
        state.acquire(0)
        counts = state.map(SPEC.name)
        for _ in range(500_000):
            key = b"customer-%07d" % chance.randrange(keys)
            counts.get(key)
            counts.put(key, b"0123456789abcdef")
        state.commit(CHECKPOINT, {})
        state.release()
    return {"after": _resident("VmRSS") - before, "at most": _resident("VmHWM") - before}


def _resident(which: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1]) / 1024


def measured_apart(directory: Path, keys: int) -> dict[str, float]:
    """In a process of its own, which has none of the test data."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(memory, (directory, keys))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keys", type=int, default=1_000_000)
    arguments.add_argument("--times", type=int, default=3)
    arguments.add_argument("--directory", type=Path, help="where the state goes")
    arguments.add_argument("--json", action="store_true", help="a line of JSON at the end")
    options = arguments.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="headrace-state-", dir=options.directory))
    results = []
    try:
        bench = Bench(directory, options.keys, options.times)
        print(f"{'':20} {'dict µs':>9} {'state µs':>9} {'a second':>11}")
        for row in bench.rows():
            results.append(row)
            plain = "" if row.dict_us is None else f"{row.dict_us:.2f}"
            print(f"{row.name:20} {plain:>9} {row.state_us:>9.2f} {row.per_second:>11,}")
        bench.state.release()
        megabytes = measured_apart(directory, options.keys)
        print(", ".join(f"{name} {size:.0f} MB" for name, size in megabytes.items()))
    finally:
        shutil.rmtree(directory)
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in results], "memory": megabytes}))


if __name__ == "__main__":
    main()
