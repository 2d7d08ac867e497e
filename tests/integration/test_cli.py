"""The commands that talk to Kafka."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from headrace.cli import topics
from headrace.core.config import StreamsConfig
from headrace.core.record import TopicPartition
from headrace.embedded import EmbeddedKafka
from headrace.kafka.port import Position
from headrace.kafka.positions import GroupReader
from headrace.kafka.producer import TransactionalProducer
from headrace.kafka.settings import ClientSettings
from headrace.state.directory import StateDirectory
from tests.cli.conftest import Headrace, running


@pytest.fixture
def headrace(embedded_kafka: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch) -> Iterator[Headrace]:
    """Calls `headrace`, which knows the broker by a variable."""
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", embedded_kafka.bootstrap_servers)
    yield from running()


@pytest.fixture
def topic(headrace: Headrace, topic_name: Callable[[], str]) -> str:
    name = topic_name()
    assert headrace("topics", "create", name, "-p", 2).exit_code == 0
    return name


def client(embedded_kafka: EmbeddedKafka, application: str) -> ClientSettings:
    return ClientSettings(
        StreamsConfig(
            {
                "application.id": application,
                "bootstrap.servers": embedded_kafka.bootstrap_servers,
                "task.timeout.ms": 20_000,
            }
        )
    )


def test_topics(
    headrace: Headrace, topic_name: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = topic_name()
    created = headrace("topics", "create", name, "-p", 3, "-t", "retention.ms=-1")
    assert created.stdout == f"created {name} with 3 partitions\n"
    again = headrace("topics", "create", name)
    assert again.exit_code == 1
    assert "already" in again.stderr
    assert headrace("topics", "list", name).stdout == f"{name}\t3\n"
    with monkeypatch.context() as patch:
        patch.setattr(topics, "out", Console(force_terminal=True, width=120))
        assert "partitions" in headrace("topics", "list", name).stdout
    described = headrace("topics", "describe", name).stdout
    assert f"{name}: 3 partitions, 1 replica" in described
    assert "  2: offsets 0 to 0\n" in described
    assert "retention.ms = -1" in described
    wrong = headrace("topics", "create", f"{name}-2", "-t", "retension.ms=-1")
    assert "Did you mean 'topic.retention.ms'" in wrong.stderr
    assert headrace("topics", "delete", name, input="n\n").exit_code == 1
    assert headrace("topics", "delete", name, input="y\n").exit_code == 0
    assert headrace("topics", "list", name).stdout == ""
    missing = headrace("topics", "describe", name)
    assert missing.exit_code == 1
    assert f"headrace topics create {name}" in missing.stderr


def test_produce_and_consume(headrace: Headrace, topic: str) -> None:
    written = headrace("produce", topic, "-k", ":", input="a:1\nb:2\na:null\nd:4\n")
    assert written.exit_code == 0, written.output
    assert f"4 records written to {topic}" in written.stderr
    everything = headrace("consume", topic, "-f", "-e")
    assert sorted(everything.stdout.splitlines()) == ["a\t1", "a\tnull", "b\t2", "d\t4"]
    assert headrace("consume", topic, "-f", "-n", 3).stdout.count("\n") == 3
    assert headrace("consume", topic, "-e").stdout == ""
    assert headrace("consume", topic, "-t", 0.1).stdout == ""
    one = headrace("consume", topic, "-f", "-e", "-p", 1, "--offsets")
    assert one.stdout == "1@0\td\t4\n"
    assert headrace("consume", topic, "-p", 2).exit_code == 2
    assert headrace("consume", "no-such-topic").exit_code == 1


def test_json_goes_there_and_back(headrace: Headrace, topic: str) -> None:
    line = {"key": "a", "value": {"b": [1]}, "timestamp": 5, "headers": {"h": "x"}, "partition": 1}
    headrace("produce", topic, "--json", "-V", "json", input=json.dumps(line))
    read = headrace("consume", topic, "-f", "-e", "--json", "-V", "json").stdout
    assert json.loads(read) == {**line, "topic": topic, "offset": 0}


def test_only_committed_records_are_shown(
    headrace: Headrace, topic: str, embedded_kafka: EmbeddedKafka
) -> None:
    settings = client(embedded_kafka, f"{topic}-app")
    producer = TransactionalProducer(settings, f"{topic}-id")
    group = GroupReader(settings)
    producer.open()
    producer.send([(topic, 0, b"k", b"committed", None, ())])
    producer.commit(group.group_metadata(), {})
    producer.send([(topic, 0, b"k", b"open", None, ())])
    both = headrace("consume", topic, "-f", "-n", 2, "--uncommitted").stdout
    assert both == "k\tcommitted\nk\topen\n"
    assert headrace("consume", topic, "-f", "-e").stdout == "k\tcommitted\n"
    producer.abort()
    producer.close()
    group.close()


def test_doctor_finds_the_broker(headrace: Headrace) -> None:
    assert "✓ Kafka: 127.0.0.1:" in headrace("doctor").stdout


def test_reset(
    headrace: Headrace,
    topic: str,
    topic_name: Callable[[], str],
    embedded_kafka: EmbeddedKafka,
    tmp_path: Path,
) -> None:
    application = topic_name()
    headrace("produce", topic, input="1\n2\n3\n")
    changelog = f"{application}-counts-changelog"
    headrace("topics", "create", changelog, f"{application}-out")
    partitions = [TopicPartition(topic, number) for number in range(2)]
    settings = client(embedded_kafka, application)
    group = GroupReader(settings)
    group.commit(dict.fromkeys(partitions, Position(1)))
    StateDirectory(tmp_path, application).task("0_0").mkdir(parents=True)
    options = ("-a", application, "-s", f"state.dir={tmp_path}")

    planned = headrace("reset", *options)
    assert planned.exit_code == 0, planned.output
    assert f"  {topic}-1: was at 1\n" in planned.stdout
    assert f"  {changelog}\n" in planned.stdout
    assert str(tmp_path / application) in planned.stdout
    assert "--execute" in planned.stderr
    assert len(group.committed(partitions)) == 2
    assert (tmp_path / application).exists()

    done = headrace("reset", *options, "--to", "latest", "--execute")
    assert done.exit_code == 0, done.output
    ends = group.end_offsets(partitions)
    assert {part: at.offset for part, at in group.committed(partitions).items()} == ends
    assert not (tmp_path / application).exists()
    listed = headrace("topics", "list", application).stdout
    assert listed == f"{application}-out\t1\n"

    forgotten = headrace("reset", *options, "--execute")
    assert forgotten.exit_code == 0, forgotten.output
    assert group.committed(partitions) == {}
    group.close()


SHOUT = """
from headrace import StreamsBuilder, serdes

def shout(word):
    if word == "poison":
        raise ValueError("that is poison")
    return word.upper()

def topology():
    builder = StreamsBuilder()
    words = builder.stream({topic!r}, key=serdes.string(), value=serdes.string())
    words.map_values(shout).to({output!r}, key=serdes.string(), value=serdes.string())
    return builder.build()
"""


@pytest.mark.parametrize("ends_by", ["signal", "poison"])
def test_run(
    headrace: Headrace, topic_name: Callable[[], str], tmp_path: Path, ends_by: str
) -> None:
    topic, output = topic_name(), topic_name()
    headrace("topics", "create", topic, output)
    headrace("produce", topic, input="hello\n")
    (tmp_path / "shouting.py").write_text(SHOUT.format(topic=topic, output=output))
    command = [sys.executable, "-m", "headrace", "run", "shouting:topology", "-a", topic]
    command += ["-s", f"state.dir={tmp_path}", "-s", "spark.master=local[2]"]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, cwd=tmp_path, stderr=log, text=True) as it,
    ):
        try:
            shouted = headrace("consume", output, "-f", "-n", 1, "-t", 180)
            if ends_by == "signal":
                it.send_signal(signal.SIGTERM)
            else:
                headrace("produce", topic, input="poison\n")
            it.wait(120)
        finally:
            it.kill()
    said = (tmp_path / "log").read_text()
    assert shouted.stdout == "null\tHELLO\n", said
    assert "INFO RUNNING" in said
    if ends_by == "signal":
        assert it.returncode == 0, said
        assert f"{topic} stopped after 1 record\n" in said
    else:
        assert it.returncode == 1, said
        assert "in shout" in said
        assert "ValueError: that is poison" in said
        assert "headrace: Processing: " in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_broker_of_its_own(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headrace", "broker", "--port", "0", "-d", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        assert it.stderr is not None
        servers = it.stdout.readline().strip()
        environ = {**os.environ, "HEADRACE_BOOTSTRAP_SERVERS": servers}
        listed = subprocess.run(
            [sys.executable, "-m", "headrace", "topics", "list"],
            env=environ,
            capture_output=True,
            text=True,
        )
        it.send_signal(number)
        said = it.stderr.read()
    assert listed.returncode == 0, listed.stderr
    assert it.returncode == 0
    assert f"Kafka runs at {servers}; its data is in {tmp_path}" in said
