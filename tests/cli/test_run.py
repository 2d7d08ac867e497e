from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from rich.console import Console

from headrace.app.lifecycle import State
from headrace.app.status import Status
from headrace.app.streams import KafkaStreams
from headrace.cli import run as command
from headrace.core.errors import BrokerError, FencedError
from tests.cli.conftest import Headrace

SHOP = """
from headrace import StreamsBuilder, serdes
from headrace.app.streams import KafkaStreams

builder = StreamsBuilder()
builder.stream("orders", key=serdes.string(), value=serdes.string()).to("out")

def application():
    return KafkaStreams(builder.build(), application_id="own", bootstrap_servers="own:1")
"""


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[KafkaStreams]:
    """Applications that were run, which takes a moment and does nothing."""
    seen: list[KafkaStreams] = []

    def run(self: KafkaStreams) -> None:
        time.sleep(0.5)
        seen.append(self)

    status = Status(State.RUNNING, records_total=7)
    monkeypatch.setattr(KafkaStreams, "run", run)
    monkeypatch.setattr(KafkaStreams, "status", lambda self: status)
    return seen


def test_run_a_topology(
    headrace: Headrace, modules: Callable[[str, str], None], ran: list[KafkaStreams]
) -> None:
    modules("shop", SHOP)
    result = headrace(
        "run", "shop:builder", "-a", "shop", "-b", "kafka:1", "-s", "commit.interval.ms=7"
    )
    assert result.exit_code == 0, result.output
    (streams,) = ran
    assert streams.config.application_id == "shop"
    assert streams.config["bootstrap.servers"] == "kafka:1"
    assert streams.config["commit.interval.ms"] == 7
    assert "INFO RUNNING, 0 tasks, 7 records" in result.stderr
    assert "shop stopped after 7 records" in result.stderr


def test_run_an_application(
    headrace: Headrace, modules: Callable[[str, str], None], ran: list[KafkaStreams]
) -> None:
    modules("shop", SHOP)
    assert headrace("run", "shop:application").exit_code == 0
    assert ran[0].config.application_id == "own"
    again = headrace("run", "shop:application", "-s", "commit.interval.ms=7")
    assert again.exit_code == 1
    assert "commit.interval.ms can't be given here" in again.stderr


def test_the_topology_of_an_application(
    headrace: Headrace, modules: Callable[[str, str], None]
) -> None:
    modules("shop", SHOP)
    assert "Source: KSTREAM" in headrace("topology", "shop:application").stdout


def test_what_must_be_given(headrace: Headrace, modules: Callable[[str, str], None]) -> None:
    modules("shop", SHOP)
    result = headrace("run", "shop:builder", "-a", "shop")
    assert result.exit_code == 1
    assert "bootstrap.servers must be given" in result.stderr


def test_an_application_that_fails(
    headrace: Headrace, modules: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: KafkaStreams) -> None:
        raise BrokerError("the broker is away")

    monkeypatch.setattr(KafkaStreams, "run", run)
    modules("shop", SHOP)
    result = headrace("run", "shop:builder", "-a", "shop", "-b", "kafka:1")
    assert result.exit_code == 1
    assert "headrace: Kafka: the broker is away" in result.stderr


def test_an_application_that_was_taken_over(
    headrace: Headrace, modules: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: KafkaStreams) -> None:
        raise FencedError("another one took over")

    monkeypatch.setattr(KafkaStreams, "run", run)
    modules("shop", SHOP)
    result = headrace("run", "shop:builder", "-a", "shop", "-b", "kafka:1")
    assert result.exit_code == 3
    assert "headrace: Taken over: another one took over" in result.stderr


def test_taking_over(
    headrace: Headrace, modules: Callable[[str, str], None], ran: list[KafkaStreams]
) -> None:
    modules("shop", SHOP)
    assert headrace("run", "shop:builder", "-a", "shop", "-b", "kafka:1").exit_code == 0
    taking = headrace("run", "shop:builder", "-a", "shop", "-b", "kafka:1", "--takeover")
    assert taking.exit_code == 0, taking.output
    assert [streams.config["instance.takeover"] for streams in ran] == [False, True]


def test_on_a_terminal_the_status_is_kept_up_to_date(
    headrace: Headrace,
    modules: Callable[[str, str], None],
    ran: list[KafkaStreams],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    console = Console(stderr=True, force_terminal=True, width=100)
    monkeypatch.setattr(command, "err", console)
    modules("shop", SHOP)
    result = headrace("run", "shop:builder", "-a", "shop", "-b", "kafka:1")
    assert result.exit_code == 0, result.output
    assert "7 records" in result.stderr
    assert " RUNNING " in result.stderr


def test_logs_as_json(
    headrace: Headrace, modules: Callable[[str, str], None], ran: list[KafkaStreams]
) -> None:
    modules("shop", SHOP)
    result = headrace("run", "shop:builder", "-a", "shop", "-b", "kafka:1", "--log-format", "json")
    assert result.exit_code == 0, result.output
    assert ran[0].config["log.format"] == "json"
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert lines[0]["message"].startswith("RUNNING, 0 tasks, 7 records")
    assert lines[-1]["message"] == "shop stopped after 7 records"
    assert headrace("run", "shop:builder", "--log-format", "xml").exit_code == 1
