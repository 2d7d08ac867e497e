from __future__ import annotations

import io
import re
from itertools import islice
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from headrace import serdes
from headrace.app.lifecycle import State
from headrace.app.status import Status
from headrace.cli import demo
from headrace.cli import store_purchases as store
from headrace.cli.demo_purchases import Customers, purchases
from headrace.cli.demo_results import OUTPUTS, WINDOWED, Results
from headrace.cli.demo_topology import trees
from headrace.cli.demo_view import Moment, line, output_lines, view
from headrace.cli.serde_names import serde_named
from headrace.core.errors import BrokerError
from headrace.core.record import ConsumerRecord
from headrace.embedded import EmbeddedKafka
from headrace.testing import TopologyTestDriver
from tests.cli.conftest import Headrace

RUNNING = Status(State.RUNNING, records_total=1_234, rate=900.4, lag=5, batches=3, batch_ms=250.2)
NINE = 1_800_000_000_000 - 1_800_000_000_000 % 300_000
"""The start of a window."""


def results(count: int) -> Results:
    """Of so many purchases, a second apart."""
    found = Results()
    with TopologyTestDriver(store.topology(), {"application.id": "store"}) as driver:
        topic = driver.input_topic(store.PURCHASES, serdes.string(), store.PURCHASE)
        for number, purchase in enumerate(islice(purchases(), count)):
            topic.pipe_value(purchase, NINE + 1000 * number)
        found.add(
            ConsumerRecord(
                record.topic, 0, number, record.timestamp or 0, record.key, record.value, ()
            )
            for number, record in enumerate(driver.take_output())
            if record.topic in OUTPUTS
        )
    return found


def shown(*renderables: RenderableType, width: int = 80) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width).print(*renderables, sep="\n")
    return [text.rstrip() for text in file.getvalue().splitlines()]


def test_every_topic_and_store_of_the_topology_is_shown() -> None:
    text = "\n".join(shown(*trees(store.topology())))
    for topic in OUTPUTS:
        assert f"write {topic}" in text
    assert "with store points" in text
    assert "with store per-department" in text
    assert "key-select" in text


def test_purchases_are_the_same_in_every_run() -> None:
    assert list(islice(purchases(), 50)) == list(islice(purchases(), 50))


def test_customers_come_at_a_steady_pace() -> None:
    customers = Customers(1_000.0, per_second=10)
    assert len(customers.due(1_000.05)) == 1
    records = customers.due(1_000.35)
    assert [record[4] for record in records] == [1_000_100, 1_000_200, 1_000_300]
    assert customers.due(1_000.35) == []
    assert customers.purchases == 4
    topic, *_ = records[0]
    assert topic == store.PURCHASES
    assert store.PURCHASE.deserialize(records[0][3] or b"").price > 0


def test_results_add_up() -> None:
    found = results(400)
    assert found.are_complete
    assert found.records[store.PATTERNS] == 400
    windows = found.windows()
    assert [window.start - NINE for window in windows] == [300_000, 0]
    counted = sum(found.count(name, each) for name in store_departments() for each in windows)
    assert counted == 400
    assert found.last(store.REWARDS, 2)[0].startswith("customer=")
    assert re.fullmatch(r"\w+ \d\d:\d\d-\d\d:\d\d: \d+", found.last(store.DEPARTMENT_COUNTS, 1)[0])


def store_departments() -> set[str]:
    return {purchase.department for purchase in islice(purchases(), 100)}


def test_nothing_yet() -> None:
    assert not Results().are_complete
    moment = Moment(Status(State.REBALANCING), 0, Results())
    assert line(moment).startswith("0 purchases sent; REBALANCING, 0 tasks")
    assert output_lines(Results()) == []
    assert len(shown(view(moment, hints(), 24))) <= 23


def hints() -> list[str]:
    return demo._hints("127.0.0.1:29999", "http://127.0.0.1:39999")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 25), (120, 40), (200, 70)])
def test_the_view_fits_the_terminal(width: int, height: int) -> None:
    lines = shown(view(Moment(RUNNING, 400, results(400)), hints(), height), width=width)
    assert height - 8 < len(lines) < height
    assert max(map(len, lines)) <= width
    assert max(map(len, lines)) > width - 5
    text = "\n".join(lines)
    assert "RUNNING" in text
    assert "1,234" in text
    assert "250 ms" in text
    for topic in OUTPUTS:
        assert f"\n{topic} " in text
    assert re.search(r"item=\w+, total=[\d.]+, card=xxxx-xxxx", text)
    assert not re.search(r"\d{4}-\d{4}-\d{4}-\d{4}", text)
    assert ("department=electronics" in text) is (width > 100)


def test_lines() -> None:
    found = results(400)
    text = line(Moment(RUNNING, 400, found))
    assert text.startswith("400 purchases sent; RUNNING, 0 tasks, 1,234 records, 900/s, lag 5,")
    assert re.search(r"; \d\d:\d\d-\d\d:\d\d coffee \d+, electronics \d+, grocery \d+", text)
    assert len(output_lines(found)) == len(OUTPUTS)
    assert output_lines(found)[0].startswith("patterns, 400 records, the last: zip_code=")


def test_the_hints_name_what_there_is() -> None:
    console, *_, counts = hints()
    assert serde_named(counts.split()[-1]) is WINDOWED
    assert "http://127.0.0.1:39999   Ctrl-C" in console
    assert "  export HEADRACE_APPLICATION_SERVER=127.0.0.1:39999" in hints()
    assert any(line.endswith("query points bea") for line in hints())
    assert {purchase.customer for purchase in islice(purchases(), 100)} >= {"bea"}


def test_the_example_is_there_once() -> None:
    assert Path(store.__file__).is_symlink()


def test_errors_are_shown_as_usual(headrace: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: EmbeddedKafka) -> None:
        raise BrokerError("Port 9092 is in use by another program")

    monkeypatch.setattr(EmbeddedKafka, "start", start)
    monkeypatch.setattr("headrace.kafka.jars.resolve", lambda jars, progress: [])
    result = headrace("demo", "--port", 9092)
    assert result.exit_code == 1
    assert "headrace: Kafka: Port 9092 is in use by another program" in result.stderr
    assert "looking for Java libraries" in result.stdout
    assert "Traceback" not in result.output


def test_it_can_be_interrupted_while_it_starts(
    headrace: Headrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(self: EmbeddedKafka) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(EmbeddedKafka, "start", start)
    monkeypatch.setattr("headrace.kafka.jars.resolve", lambda jars, progress: [])
    result = headrace("demo")
    assert result.exit_code == 0
    assert "The demo has ended." in result.stdout
