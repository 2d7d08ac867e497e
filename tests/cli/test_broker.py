from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from headrace import embedded
from headrace.core.errors import ConfigError
from tests.cli.conftest import Headrace


class FakeKafka:
    """Starts at once, and has the process told to end soon after."""

    bootstrap_servers = "127.0.0.1:9092"
    made: list[tuple[Any, dict[str, Any]]]
    stopped = 0

    def __init__(self, directory: Path | None, **options: Any) -> None:
        FakeKafka.made.append((directory, options))

    def start(self) -> None:
        threading.Timer(0.1, signal.raise_signal, [signal.SIGTERM]).start()

    def stop(self) -> None:
        FakeKafka.stopped += 1


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeKafka]:
    FakeKafka.made, FakeKafka.stopped = [], 0
    monkeypatch.setattr(embedded, "EmbeddedKafka", FakeKafka)
    return FakeKafka


def test_a_broker_runs_until_it_is_told_to_end(headrace: Headrace, fake: type[FakeKafka]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    result = headrace("broker")
    assert result.exit_code == 0, result.output
    assert result.stdout == "127.0.0.1:9092\n"
    assert "gone when the broker stops" in result.stderr
    assert "headrace produce orders -k :\n" in result.stderr
    ((directory, options),) = fake.made
    assert directory is None
    assert (options["port"], options["brokers"]) == (9092, 1)
    assert fake.stopped == 1
    assert signal.getsignal(signal.SIGTERM) == before


def test_its_options(headrace: Headrace, fake: type[FakeKafka], tmp_path: Path) -> None:
    fake.bootstrap_servers = "127.0.0.1:19092"
    result = headrace("broker", "--port", 19092, "--directory", tmp_path, "--brokers", 3)
    assert f"in {tmp_path}" in result.stderr
    assert "headrace topics create orders -p 4 -b 127.0.0.1:19092" in result.stderr
    ((directory, options),) = fake.made
    assert directory == tmp_path
    assert (options["port"], options["brokers"]) == (19092, 3)


def test_a_broker_that_can_not_start(
    headrace: Headrace, fake: type[FakeKafka], monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(self: FakeKafka) -> None:
        raise ConfigError("Port 9092 is in use. Take another.")

    monkeypatch.setattr(fake, "start", start)
    result = headrace("broker")
    assert result.exit_code == 1
    assert "headrace: Configuration: Port 9092 is in use" in result.stderr
