"""What measuring costs, against the same kernel that measures nothing.

    python benchmarks/metrics.py [--records N] [--json]

Records go through a task as they do in the engine: in chunks, with the outbox taken now and then, a
commit at the end, and then the report. Every row runs the kernel without measuring and with one
recording level in turn, in many short runs, and reports the ratio of the best of each, in processor
time: a few percent are easily lost in what else the machine does.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import json
import re
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any
from unittest.mock import patch

import orjson

from benchmarks.kernel import (
    INPUT,
    count_topology,
    keep_freed_memory,
    map_topology,
    orders,
    windowed_count_topology,
)
from headrace import StreamsBuilder, Topology, serdes
from headrace.core.clock import SystemClock
from headrace.core.config import StreamsConfig
from headrace.core.record import TaskId
from headrace.engine.chunk import rows
from headrace.runtime import task as runtime_task
from headrace.runtime.columns import Columns
from headrace.runtime.task import StreamTask, TaskSpec

_CHUNK = 10_000
_LIMITS = {"INFO": 1.03}


@dataclass(frozen=True)
class Row:
    name: str
    level: str
    without_us: float
    with_us: float
    ratio: float
    limit: float | None


class _NoConsumption:
    def __init__(self, *_: object) -> None:
        pass

    def measure(self) -> None:
        pass


class _NoProduction(_NoConsumption):
    def add(self, outbox: Sequence[Any], counts: Mapping[str, int]) -> None:
        pass


def _process_columns_uncounted() -> Any:
    """StreamTask.process_columns without the lines that count, as they are too few to be a call
    that could be replaced."""
    source = textwrap.dedent(inspect.getsource(StreamTask.process_columns))
    uncounted, removed = re.subn(
        r" *consumption = .*?(?=\n *self\.positions)", "", source, flags=re.DOTALL
    )
    assert removed == 1
    assert "backlog" not in uncounted
    scope = dict(vars(runtime_task))
    exec(uncounted, scope)
    return scope["process_columns"]


class _UncountedTask(StreamTask):
    """A class of its own, as to change StreamTask would cost what Python knows of it, and so time
    in the runs that measure."""

    process_columns = _process_columns_uncounted()


@contextmanager
def unmeasured() -> Iterator[None]:
    """Tasks that are made meanwhile measure nothing."""
    with ExitStack() as patches:
        for name, nothing in {"Consumption": _NoConsumption, "Production": _NoProduction}.items():
            patches.enter_context(patch(f"headrace.runtime.task.{name}", nothing))
        yield


def foreach_topology() -> Topology:
    """A terminal node that is no sink."""
    builder = StreamsBuilder()
    orders = builder.stream("orders", key=serdes.string(), value=serdes.json())
    orders.foreach(_look_at)
    return builder.build()


def _look_at(key: str, order: Any) -> None:
    order["price"] * order["quantity"]


def run(
    topology: Topology,
    chunks: Sequence[Columns],
    level: str,
    task_class: type[StreamTask] = StreamTask,
) -> None:
    config = StreamsConfig(
        {
            "application.id": "bench",
            "statestore.cache.max.bytes": 2**31 - 1,
            "metrics.recording.level": level,
        }
    )
    nodes = tuple(topology.nodes)
    spec = TaskSpec(TaskId(0, 0), topology, nodes, {INPUT: nodes[0]}, config)
    task = task_class(spec, SystemClock())
    for chunk in chunks:
        task.process_columns(INPUT, chunk)
        if len(task.outbox) >= _CHUNK // 2:
            task.take_outbox()
    task.commit()
    task.take_outbox()
    orjson.dumps(task.take_measurements())


def run_unmeasured(topology: Topology, chunks: Sequence[Columns]) -> None:
    with unmeasured():
        run(topology, chunks, "INFO", _UncountedTask)


def seconds(work: Callable[[], None]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def measure(
    name: str, topology: Topology, level: str, chunks: Sequence[Columns], times: int
) -> Row:
    runs = []
    for number in range(times):
        works = [
            lambda: run_unmeasured(topology, chunks),
            lambda: run(topology, chunks, level),
        ]
        # Whoever goes second finds the caches warm: they take turns in that, too.
        order = (0, 1) if number % 2 else (1, 0)
        spent = {which: seconds(works[which]) for which in order}
        runs.append((spent[0], spent[1]))
    records = sum(len(chunk.offsets) for chunk in chunks)
    return Row(
        name,
        level,
        min(without for without, _ in runs) / records * 1e6,
        min(measured for _, measured in runs) / records * 1e6,
        min(measured for _, measured in runs) / min(without for without, _ in runs),
        _LIMITS.get(level),
    )


def cut(columns: Columns, size: int) -> list[Columns]:
    return [rows(columns, first, first + size) for first in range(0, len(columns.offsets), size)]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--records", type=int, default=20_000)
    arguments.add_argument("--times", type=int, default=100)
    arguments.add_argument("--json", action="store_true", help="a line of JSON at the end")
    options = arguments.parse_args()
    keep_freed_memory()
    columns = orders(options.records, 1_000)
    chunks = cut(columns, _CHUNK)
    results = []
    print(f"{'':16} {'level':6} {'without µs':>11} {'with µs':>9} {'ratio':>6} {'at most':>8}")

    def add(name: str, topology: Topology, level: str, chunks: Sequence[Columns]) -> None:
        row = measure(name, topology, level, chunks, options.times)
        results.append(row)
        limit = "" if row.limit is None else f"{row.limit:.2f}"
        print(
            f"{row.name:16} {row.level:6} {row.without_us:>11.2f} {row.with_us:>9.2f} "
            f"{row.ratio:>6.3f} {limit:>8}",
            flush=True,
        )

    for name, topology in {
        "map": map_topology(),
        "count": count_topology(),
        "windowed count": windowed_count_topology(),
        "foreach": foreach_topology(),
    }.items():
        for level in ("INFO", "DEBUG", "TRACE"):
            add(name, topology, level, chunks)
    # As they come if a task takes turns between its inputs.
    add("map, by twos", map_topology(), "INFO", cut(columns, 2))
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in results]}))


if __name__ == "__main__":
    main()
