"""What the kernel costs, against a plain Python loop that does the same work.

    python benchmarks/kernel.py [--records N] [--json]

Every row runs the loop and the kernel in turn in this process, several times, and
reports the best of each; the ratio is the figure that travels between machines.

Between runs the C library may give freed memory back to the system, and each run then spends as
much time on page faults as on work, in the loop and in the kernel alike. Whether it does is chance,
so it is told not to, where it can be told. Without that, the ratios vary more.

The rows by keys go from a thousand keys to a million. `count to commit` is everything from the
first record to the commit: more keys also mean more results to write, up to one for each record.
The other two count keys that are already there, cached, and with every update going downstream at
once: the same work whatever the number of keys.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import random
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import orjson

from headrace import StreamsBuilder, TimeWindows, Topology, serdes
from headrace.core.clock import ManualClock
from headrace.core.config import StreamsConfig
from headrace.core.record import TaskId, TopicPartition
from headrace.runtime.columns import Columns
from headrace.runtime.task import StreamTask, TaskSpec

Loop = Callable[[Columns], "list[Any]"]

WINDOW_MS = 60_000
INPUT = TopicPartition("orders", 0)
_LIMITS = {"map": 1.8, "count": 2.0, "windowed count": 2.0}


@dataclass(frozen=True)
class Row:
    name: str
    keys: int
    loop_us: float
    kernel_us: float
    ratio: float
    limit: float | None


def orders(records: int, keys: int) -> Columns:
    """JSON orders, about 130 bytes each, a millisecond apart."""
    chance = random.Random(7)
    names, values = [], []
    for number in range(records):
        names.append(b"customer-%07d" % chance.randrange(keys))
        order = {
            "id": number,
            "customer": f"customer-{number % 1000}",
            "department": chance.choice(["books", "coffee", "electronics"]),
            "price": round(chance.uniform(1, 100), 2),
            "quantity": chance.randrange(1, 10),
            "card": "4111-1111-1111-1111",
        }
        values.append(orjson.dumps(order))
    return Columns(range(records), range(records), names, values)


def rows(columns: Columns) -> Iterator[tuple[bytes, bytes, int]]:
    """Key, value and timestamp of records that all have them."""
    return zip(columns.keys, columns.values, columns.timestamps, strict=True)  # type: ignore[arg-type]


# The loops


def loop_map(columns: Columns) -> list[Any]:
    loads, dumps, out = orjson.loads, orjson.dumps, []
    for key, value, timestamp in rows(columns):
        name = key.decode()
        order = loads(value)
        if order["price"] > 5:
            order["total"] = order["price"] * order["quantity"]
            out.append((name.encode(), dumps(order), timestamp))
    return out


def loop_count(columns: Columns) -> list[Any]:
    loads = orjson.loads
    counts: dict[str, int] = {}
    latest: dict[str, int] = {}
    for key, value, timestamp in rows(columns):
        name = key.decode()
        if loads(value) is not None:
            counts[name] = counts.get(name, 0) + 1
            latest[name] = max(timestamp, latest.get(name, 0))
    pack = struct.Struct(">q").pack
    return [(name.encode(), pack(count), latest[name]) for name, count in counts.items()]


def loop_windowed_count(columns: Columns) -> list[Any]:
    loads = orjson.loads
    counts: dict[tuple[str, int], int] = {}
    latest: dict[tuple[str, int], int] = {}
    for key, value, timestamp in rows(columns):
        name = key.decode()
        if loads(value) is not None:
            window = (name, timestamp - timestamp % WINDOW_MS)
            counts[window] = counts.get(window, 0) + 1
            latest[window] = max(timestamp, latest.get(window, 0))
    pack = struct.Struct(">q").pack
    return [
        (window[0].encode() + pack(window[1]), pack(count), latest[window])
        for window, count in counts.items()
    ]


# The topologies


def _is_expensive(key: str, order: Any) -> bool:
    return bool(order["price"] > 5)


def _with_total(order: Any) -> Any:
    order["total"] = order["price"] * order["quantity"]
    return order


def map_topology() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("orders", key=serdes.string(), value=serdes.json())
        .filter(_is_expensive)
        .map_values(_with_total)
        .to("out", key=serdes.string(), value=serdes.json())
    )
    return builder.build()


def count_topology() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("orders", key=serdes.string(), value=serdes.json())
        .group_by_key()
        .count("counts")
        .to_stream()
        .to("out", key=serdes.string(), value=serdes.long())
    )
    return builder.build()


def windowed_count_topology() -> Topology:
    builder = StreamsBuilder()
    size = timedelta(milliseconds=WINDOW_MS)
    (
        builder.stream("orders", key=serdes.string(), value=serdes.json())
        .group_by_key()
        .windowed_by(TimeWindows.of_size(size))
        .count("counts")
        .to_stream()
        .to("out", key=serdes.time_windowed(serdes.string(), size), value=serdes.long())
    )
    return builder.build()


def start(topology: Topology, cache_bytes: int = 2**31 - 1) -> StreamTask:
    config = StreamsConfig({"application.id": "bench", "statestore.cache.max.bytes": cache_bytes})
    nodes = tuple(topology.nodes)
    spec = TaskSpec(TaskId(0, 0), topology, nodes, {INPUT: nodes[0]}, config)
    return StreamTask(spec, ManualClock(0))


def run_kernel(topology: Topology, columns: Columns) -> int:
    """Processes all records and commits; gives the number of records sent to `out`."""
    task = start(topology)
    task.process_columns(INPUT, columns)
    task.commit()
    return sum(1 for record in task.outbox if record[0] == "out")


def keep_freed_memory() -> None:
    """Have glibc keep what is freed, so that no run pays for getting it back."""
    trim_threshold, mmap_threshold = -1, -3
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(trim_threshold, 2**31 - 1)
        mallopt(mmap_threshold, 2**30)


def best_of_both(
    times: int, loop: Callable[[], object], kernel: Callable[[], object]
) -> tuple[float, float]:
    """Seconds of the fastest run of each. They take turns, so that both see the same machine, and
    the garbage of earlier runs is out of the way."""
    best = [float("inf"), float("inf")]
    for _ in range(times):
        for index, work in enumerate((loop, kernel)):
            gc.collect()
            began = time.perf_counter()
            work()
            best[index] = min(best[index], time.perf_counter() - began)
    return best[0], best[1]


def row(name: str, keys: int, records: int, best: tuple[float, float]) -> Row:
    loop_us, kernel_us = (seconds / records * 1e6 for seconds in best)
    return Row(name, keys, loop_us, kernel_us, kernel_us / loop_us, _LIMITS.get(name))


def measure(
    name: str, columns: Columns, loop: Loop, topology: Topology, times: int, keys: int = 1_000
) -> Row:
    """All records from the first to the commit."""
    records = len(columns.offsets)
    assert len(loop(columns)) == run_kernel(topology, columns), f"{name}: results differ"
    best = best_of_both(times, lambda: loop(columns), lambda: run_kernel(topology, columns))
    return row(name, keys, records, best)


def measure_keys(name: str, keys: int, records: int, times: int, cache_bytes: int) -> Row:
    """Counts of keys that are already there."""
    columns = orders(records, keys)
    everyone = [b"customer-%07d" % number for number in range(keys)]
    task = start(count_topology(), cache_bytes)
    task.process_columns(INPUT, Columns(range(keys), [0] * keys, everyone, [b"0"] * keys))
    task.commit()
    counts = {key.decode(): (1, 0) for key in everyone}

    def loop() -> None:
        loads = orjson.loads
        for key, value, timestamp in rows(columns):
            name = key.decode()
            if loads(value) is not None:
                count, latest = counts[name]
                counts[name] = count + 1, max(timestamp, latest)

    def kernel() -> None:
        task.outbox.clear()
        task.process_columns(INPUT, columns)

    return row(name, keys, records, best_of_both(times, loop, kernel))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--records", type=int, default=500_000)
    arguments.add_argument("--times", type=int, default=4)
    arguments.add_argument("--json", action="store_true", help="a line of JSON at the end")
    options = arguments.parse_args()
    keep_freed_memory()

    results = []

    def add(row: Row) -> None:
        results.append(row)
        show(row)

    columns = orders(options.records, 1_000)
    print(f"{'':20} {'keys':>9} {'loop µs':>9} {'kernel µs':>10} {'ratio':>6} {'at most':>8}")
    add(measure("map", columns, loop_map, map_topology(), options.times))
    add(measure("count", columns, loop_count, count_topology(), options.times))
    add(
        measure(
            "windowed count", columns, loop_windowed_count, windowed_count_topology(), options.times
        )
    )
    for keys in (1_000, 10_000, 100_000, 1_000_000):
        columns = orders(options.records, keys)
        topology = count_topology()
        add(measure("count to commit", columns, loop_count, topology, options.times, keys))
    for name, cache_bytes in (("count, cached", 2**31 - 1), ("count, uncached", 0)):
        for keys in (1_000, 10_000, 100_000, 1_000_000):
            add(measure_keys(name, keys, options.records, options.times, cache_bytes))
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in results]}))


def show(row: Row) -> None:
    limit = "" if row.limit is None else f"{row.limit:.1f}"
    print(
        f"{row.name:20} {row.keys:>9,} {row.loop_us:>9.2f} {row.kernel_us:>10.2f} "
        f"{row.ratio:>6.2f} {limit:>8}",
        flush=True,
    )


if __name__ == "__main__":
    main()
