"""Headrace in a terminal: the stores' purchases, counted, crashed and restored.

    make demo

The topology of store_purchases.py runs in this process, in the test driver: no Kafka, no Spark.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from examples import store_purchases as store
from examples.store_purchases import Pattern, Purchase, Reward
from headrace import Topology, Windowed, serdes
from headrace.serdes import Serde
from headrace.testing import TopologyTestDriver

PURCHASES = 5_000
OPENING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SHOPPING = timedelta(minutes=20)

GOODS = {
    "coffee": [("espresso", 2.40), ("latte", 3.80), ("beans", 12.50)],
    "electronics": [("headphones", 59.00), ("charger", 14.90), ("lamp", 24.50)],
    "grocery": [("bread", 3.20), ("apples", 4.10), ("cheese", 6.75)],
    "hardware": [("nails", 2.95), ("hammer", 17.20), ("paint", 31.00)],
    "toys": [("puzzle", 11.00), ("kite", 18.40), ("marbles", 3.50)],
}
BUSY = {"coffee": 8, "grocery": 6, "hardware": 3, "electronics": 2, "toys": 2}
CUSTOMERS = ["amir", "bea", "carol", "dmitri", "elif", "farid", "grace", "hugo", "ines", "jonas"]
ZIP_CODES = ["10011", "20742", "47197", "94107"]


def main(purchases: int = PURCHASES, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    topology = store.topology()
    introduce(console)
    show_topology(console, topology)
    with TopologyTestDriver(topology, {"application.id": "store"}) as driver:
        pipe(console, driver, purchases)
        show_counts(console, driver)
        show_topics(console, driver)
        show_points(console, driver)
        crash(console, driver)
    say_goodbye(console)


def introduce(console: Console) -> None:
    console.print()
    console.print("[bold]Headrace[/] is Kafka Streams for Python. To try it, no Kafka is needed.")
    console.print("Here, one stream of purchases in a chain of stores feeds six other topics.")


# The topology


def show_topology(console: Console, topology: Topology) -> None:
    heading(console, "The topology")
    for part in topology.describe().to_dict()["subtopologies"]:
        console.print(tree(part))


def tree(part: dict[str, Any]) -> Tree:
    """A sub-topology from its sources to its sinks."""
    nodes = {node["name"]: node for node in part["nodes"]}
    root = Tree(f"[bold]sub-topology {part['id']}[/]")

    def grow(branch: Tree, name: str) -> None:
        below = branch.add(label(nodes[name]))
        for parent, child in part["edges"]:
            if parent == name:
                grow(below, child)

    for name, node in nodes.items():
        if node["kind"] == "source":
            grow(root, name)
    return root


def label(node: dict[str, Any]) -> Text:
    match node["kind"]:
        case "source":
            return Text.assemble("read ", (", ".join(node["topics"]), "green"))
        case "sink":
            return Text.assemble("write ", (node["topic"], "cyan"))
    text = Text(short(node["name"]))
    for name in node["stores"]:
        text.append(" with store ").append(name, "magenta")
    return text


def short(name: str) -> str:
    """KSTREAM-KEY-SELECT-0000000004, a generated name, in short: key-select."""
    generated = re.fullmatch(r"(?:KSTREAM|KTABLE)-(.+)-\d+", name)
    return generated[1].lower() if generated else name


# The purchases


def pipe(console: Console, driver: TopologyTestDriver, count: int) -> None:
    heading(console, "Purchases")
    topic = driver.input_topic(store.PURCHASES, serdes.string(), serdes.json(Purchase))
    with progress_bar(console) as progress:
        began = time.perf_counter()
        for timestamp, purchase in progress.track(generate(count), count, description="piped"):
            topic.pipe_value(purchase, timestamp)
        seconds = time.perf_counter() - began
    written = driver.take_output()
    logged = sum(record.topic.endswith("-changelog") for record in written)
    console.print(
        f"{count:,} purchases in {seconds:.1f} s: [bold]{count / seconds:,.0f} records/second[/], "
        "committed one by one."
    )
    console.print(f"They made {len(written):,} records, {logged:,} of these in changelogs.")


def generate(count: int) -> Iterator[tuple[datetime, Purchase]]:
    """Purchases evenly spread over the shopping time, the same in every run."""
    chance = random.Random(7)
    cards = {name: card_number(chance) for name in CUSTOMERS}
    departments = chance.choices(list(BUSY), list(BUSY.values()), k=count)
    for number, department in enumerate(departments):
        customer = chance.choice(CUSTOMERS)
        item, price = chance.choice(GOODS[department])
        yield (
            OPENING + number * SHOPPING / count,
            Purchase(
                customer,
                cards[customer],
                department,
                item,
                price,
                chance.randint(1, 3),
                chance.choice(ZIP_CODES),
            ),
        )


def card_number(chance: random.Random) -> str:
    return "-".join(f"{chance.randrange(10_000):04}" for _ in range(4))


def progress_bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console
    )


# The results


def show_counts(console: Console, driver: TopologyTestDriver) -> None:
    heading(console, "Purchases per department, in windows of five minutes")
    key = serdes.time_windowed(serdes.string(), store.WINDOW)
    counts = driver.output_topic(store.DEPARTMENT_COUNTS, key, serdes.long()).read_map()
    table = plain_table("window", *GOODS)
    for window in sorted({windowed.window for windowed in counts}):
        per_department = (counts.get(Windowed(name, window), 0) for name in GOODS)
        table.add_row(span(window.start, window.end), *map("{:,}".format, per_department))
    for column in table.columns[1:]:
        column.justify = "right"
    console.print(table)


@dataclass(frozen=True)
class Sample:
    """An output topic, how to read it, and what to show of a value."""

    topic: str
    value: Serde[Any]
    fields: Sequence[str]


SAMPLES = [
    Sample(store.PATTERNS, serdes.json(Pattern), ["zip_code", "item", "total"]),
    Sample(store.REWARDS, serdes.json(Reward), ["customer", "points", "all_points"]),
    Sample(store.COFFEE, serdes.json(Purchase), ["card", "item", "total"]),
    Sample(store.ELECTRONICS, serdes.json(Purchase), ["card", "item", "total"]),
    Sample(store.KEPT_PURCHASES, serdes.json(Purchase), ["card", "item", "total"]),
]


def show_topics(console: Console, driver: TopologyTestDriver) -> None:
    heading(console, "The last records of the other topics (card numbers are masked)")
    table = plain_table("topic", "records", "value")
    for sample in SAMPLES:
        values = driver.output_topic(sample.topic, serdes.string(), sample.value).read_values()
        for row, value in enumerate(values[-2:]):
            shown = ", ".join(f"{field}={getattr(value, field)}" for field in sample.fields)
            table.add_row(*((sample.topic, f"{len(values):,}") if row == 0 else ("", "")), shown)
    console.print(table)


def show_points(console: Console, driver: TopologyTestDriver) -> None:
    heading(console, "Inside the state store: reward points")
    points = driver.store(store.POINTS_STORE)
    console.print(", ".join(f"{name} {total:,}" for name, total in points.all()))
    console.print(f'driver.store("points").get("bea") -> {points.get("bea"):,}')


# The crash


def crash(console: Console, driver: TopologyTestDriver) -> None:
    heading(console, "A crash")
    before = contents(driver)
    console.print("All tasks and their state are lost, and start again from their changelogs.")
    began = time.perf_counter()
    driver.crash()
    seconds = time.perf_counter() - began
    if contents(driver) != before:
        raise SystemExit("The state after the crash differs from the state before it.")
    customers, windows = before
    console.print(
        f"[green]State came back[/] in {seconds:.2f} s: the points of {len(customers)} customers "
        f"and {len(windows)} counts."
    )
    _, purchase = next(generate(1))
    topic = driver.input_topic(store.PURCHASES, serdes.string(), serdes.json(Purchase))
    topic.pipe_value(purchase, OPENING + SHOPPING)
    rewards = driver.output_topic(store.REWARDS, serdes.string(), serdes.json(Reward))
    reward = rewards.read_value()
    console.print(
        f"The next purchase goes on from there: {reward.customer} had "
        f"{dict(customers)[reward.customer]:,} points, gets {reward.points} more, and has "
        f"{reward.all_points:,}."
    )


def contents(driver: TopologyTestDriver) -> tuple[list[Any], list[Any]]:
    points, windows = store.POINTS_STORE, store.PER_DEPARTMENT_STORE
    return list(driver.store(points).all()), list(driver.store(windows).all())


def say_goodbye(console: Console) -> None:
    heading(console, "Where to go next")
    console.print("examples/store_purchases.py             the application you just saw")
    console.print("tests/examples/test_store_purchases.py  how to test one like it")
    console.print("examples/                               seven more, from word count to fraud")
    console.print("make bench                              what a record costs")
    console.print("make conformance                        Headrace compared with Kafka Streams")
    console.print()


# Text


def heading(console: Console, title: str) -> None:
    console.print()
    console.rule(f"[bold]{title}[/]", align="left")


def plain_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column)
    return table


def span(start: int, end: int) -> str:
    return f"{clock_time(start)}-{clock_time(end)}"


def clock_time(timestamp: int) -> str:
    return f"{datetime.fromtimestamp(timestamp / 1000, UTC):%H:%M}"


if __name__ == "__main__":
    main()
