"""What SQL costs, against the same work written in the DSL.

    scripts/bench sql [--records N] [--json]

Both run in the kernel, in this process and in turn, several times; the best of each counts. Orders
are JSON. The DSL's functions take them as they are; SQL makes sure that every column is of its
type, and leaves out rows that are not.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.kernel import (
    INPUT,
    best_of_both,
    count_topology,
    keep_freed_memory,
    orders,
    run_kernel,
    windowed_count_topology,
)
from benchmarks.pull import pull_latencies
from headrace import StreamsBuilder, Topology, serdes
from headrace.runtime.columns import Columns
from headrace.sql.engine import Engine
from headrace.sql.syntax.parser import parse
from headrace.sql.topics import InMemoryTopics, TopicInfo

_LIMIT = 0.9
_PULL_MS = 10

_ORDERS = f"""
CREATE STREAM orders (
    name STRING KEY, id BIGINT, customer STRING, department STRING, price DOUBLE, quantity INT,
    card STRING
) WITH (kafka_topic='{INPUT[0]}', value_format='JSON');
"""
_QUERIES = {
    "filter and project": """
        CREATE STREAM totals WITH (kafka_topic='out') AS
        SELECT name, id, customer, department, price * quantity AS total
        FROM orders WHERE price > 5;
    """,
    "count": """
        CREATE TABLE counts WITH (kafka_topic='out') AS
        SELECT name, COUNT(*) AS orders FROM orders GROUP BY name;
    """,
    "windowed count": """
        CREATE TABLE counts WITH (kafka_topic='out') AS
        SELECT name, COUNT(*) AS orders
        FROM orders WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY name;
    """,
}


@dataclass(frozen=True)
class Row:
    name: str
    dsl_us: float
    sql_us: float
    ratio: float
    """How fast SQL is: 1 is as fast as the DSL."""
    limit: float


def sql_topology(query: str) -> Topology:
    """The topology of a query over orders."""
    engine = Engine(topics=InMemoryTopics(TopicInfo(INPUT[0], 1)))
    for statement in parse(_ORDERS + query):
        engine.execute(statement)
    (running,) = engine.queries.values()
    return running.topology


def _is_expensive(key: str, order: Any) -> bool:
    return bool(order["price"] > 5)


def _projected(order: Any) -> Any:
    return {
        "ID": order["id"],
        "CUSTOMER": order["customer"],
        "DEPARTMENT": order["department"],
        "TOTAL": order["price"] * order["quantity"],
    }


def projection_topology() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream(INPUT[0], key=serdes.string(), value=serdes.json())
        .filter(_is_expensive)
        .map_values(_projected)
        .to("out", key=serdes.string(), value=serdes.json())
    )
    return builder.build()


_DSL: dict[str, Callable[[], Topology]] = {
    "filter and project": projection_topology,
    "count": count_topology,
    "windowed count": windowed_count_topology,
}


def measure(name: str, columns: Columns, times: int) -> Row:
    dsl, sql = _DSL[name](), sql_topology(_QUERIES[name])
    assert run_kernel(dsl, columns) == run_kernel(sql, columns), f"{name}: results differ"
    best = best_of_both(times, lambda: run_kernel(dsl, columns), lambda: run_kernel(sql, columns))
    dsl_us, sql_us = (seconds / len(columns.offsets) * 1e6 for seconds in best)
    return Row(name, dsl_us, sql_us, dsl_us / sql_us, _LIMIT)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--records", type=int, default=200_000)
    arguments.add_argument("--times", type=int, default=4)
    arguments.add_argument("--rate", type=int, default=200, help="pull queries a second")
    arguments.add_argument("--seconds", type=float, default=15.0, help="of pull queries")
    arguments.add_argument("--keys", type=int, default=20_000, help="of the table pulled from")
    arguments.add_argument("--json", action="store_true", help="a line of JSON at the end")
    options = arguments.parse_args()
    keep_freed_memory()
    columns = orders(options.records, 1_000)
    print(f"{'':20} {'DSL µs':>8} {'SQL µs':>8} {'ratio':>6} {'at least':>9}")
    results = []
    for name in _QUERIES:
        row = measure(name, columns, options.times)
        results.append(row)
        print(
            f"{row.name:20} {row.dsl_us:>8.2f} {row.sql_us:>8.2f} {row.ratio:>6.2f} "
            f"{row.limit:>9.1f}",
            flush=True,
        )
    pulls = pull_latencies(options.rate, options.seconds, options.keys)
    print(
        f"pull queries by key: {pulls.per_second:,.0f}/s, p50 {pulls.p50:.1f} ms, "
        f"p99 {pulls.p99:.1f} ms (less than {_PULL_MS}), {pulls.failed} failed"
    )
    if options.json:
        rows = [asdict(row) for row in results]
        print(json.dumps({"rows": rows, "pulls": asdict(pulls)}))


if __name__ == "__main__":
    main()
