"""What people and machines do to a running application: it says what is wrong, where, and what to
do; and when that is done, it goes on, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
)
from pyspark.sql import SparkSession

from headrace import (
    BrokerError,
    HeadraceError,
    KafkaStreams,
    MissingTopicError,
    SerializationError,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    TopologyError,
    handlers,
    serdes,
)
from headrace.embedded import EmbeddedKafka
from headrace.kafka.admin import Admin
from headrace.kafka.settings import ClientSettings
from tests.cli.conftest import Headrace, running
from tests.integration.applications import Cluster, close, wait_until

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXT = serdes.string()
NUMBER = serdes.long()
LIMIT_S = 60.0


class Secured(Cluster):
    """One that asks for a password, and belongs to these tests alone."""

    def __init__(self, kafka: EmbeddedKafka, spark: SparkSession, directory: Path) -> None:
        super().__init__(kafka, spark, directory)
        self.settings = kafka.client_settings()
        self.client |= {
            "security.protocol": self.settings["security.protocol"],
            "sasl.mechanism": "PLAIN",
            "sasl.username": "client",
            "sasl.password": "client-secret",
        }
        if "ssl.truststore.location" in self.settings:
            self.client["ssl.ca.location"] = self.settings["ssl.truststore.location"]


@pytest.fixture(scope="module")
def secured_kafka() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(security="SASL_PLAINTEXT") as kafka:
        yield kafka


@pytest.fixture
def secured(secured_kafka: EmbeddedKafka, session: SparkSession, tmp_path: Path) -> Secured:
    return Secured(secured_kafka, session, tmp_path)


@pytest.fixture
def headrace(embedded_kafka: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch) -> Iterator[Headrace]:
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", embedded_kafka.bootstrap_servers)
    yield from running()


# Applications, and what they give


def copy(source: str, target: str, change: Callable[[str], str] = str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(source, key=TEXT, value=TEXT).map_values(change).to(target, value=TEXT)
    return builder.build()


def word_count(source: str, target: str) -> Topology:
    """With a repartition topic, and a changelog."""
    builder = StreamsBuilder()
    (
        builder.stream(source, key=TEXT, value=TEXT)
        .group_by(lambda _, word: word, key=TEXT, value=TEXT)
        .count("words")
        .to_stream()
        .to(target, key=TEXT, value=NUMBER)
    )
    return builder.build()


def words(count: int) -> list[tuple[bytes, bytes]]:
    return [(b"%d" % i, b"word %d" % (i % 7)) for i in range(count)]


def counting(cluster: Cluster, name: str) -> tuple[str, str, Topology]:
    """A topic with 50 words, one for their counts, and a topology that counts them."""
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic, 2)
    cluster.send(source, words(50))
    return source, target, word_count(source, target)


def counts(cluster: Cluster, topic: str) -> dict[bytes, int]:
    found = cluster.read(topic, 0, 1)
    return {message.key(): int.from_bytes(message.value(), "big") for message in found}


def wait_for_counts(cluster: Cluster, topic: str, records: int, streams: KafkaStreams) -> None:
    expected = Counter(word for _, word in words(records))
    wait_until(lambda: counts(cluster, topic) == expected, f"{expected}", streams)


def values(cluster: Cluster, topic: str, count: int) -> list[bytes]:
    return [message.value() for message in cluster.read(topic, count)]


def failure(streams: KafkaStreams) -> HeadraceError:
    """What an application ends with: soon, and by an error of ours."""
    with running_application(streams) as raised:
        pass
    return raised[0]


@contextmanager
def running_application(streams: KafkaStreams) -> Iterator[list[HeadraceError]]:
    """Runs it until it fails, which it must do soon after the block."""
    raised: list[Any] = []

    def run() -> None:
        try:
            streams.run()
        except HeadraceError as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield raised
        thread.join(LIMIT_S)
        assert raised, streams.status()
    finally:
        streams.close()
        thread.join()


# Records


def test_bytes_that_can_not_be_read(cluster: Cluster, name: str) -> None:
    source, target, dead = (f"{name}.{role}" for role in ("in", "out", "dead"))
    for topic in (source, target, dead):
        cluster.kafka.create_topic(topic)
    builder = StreamsBuilder()
    builder.stream(source, key=TEXT, value=serdes.json()).to(target, value=serdes.json())
    topology = builder.build()

    cluster.send(source, [(b"k", b"1"), (b"k", b"\xff\xfe"), (b"k", b"2")])
    error = failure(cluster.application(topology, name))
    assert isinstance(error, SerializationError)
    assert f"deserialize the value of the record at {source}-0@1 (source KSTREAM" in str(error)
    assert "set deserialization.exception.handler to skip such records" in str(error)
    assert cluster.read(target, 1, 1) == []

    skip = {"deserialization_exception_handler": handlers.log_and_continue}
    with cluster.application(topology, name, **skip):
        assert values(cluster, target, 2) == [b"1", b"2"]
        cluster.send(source, [(b"k", b"{")])
    to_dead = {**skip, "errors_dead_letter_queue_topic_name": dead}
    with cluster.application(topology, name, **to_dead):
        cluster.send(source, [(b"k", b"\xfe"), (b"k", b"3")])
        assert values(cluster, target, 3) == [b"1", b"2", b"3"]
    letter = cluster.read(dead, 1)[-1]
    assert (letter.key(), letter.value()) == (b"k", b"\xfe")
    assert dict(letter.headers())["__streams.errors.offset"] == b"4"
    assert b"JSONDecodeError" in dict(letter.headers())["__streams.errors.stacktrace"]


def swollen(value: str) -> str:
    return value * 20_000 if value == "big" else value


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_a_record_that_is_larger_than_a_producer_may_send(
    cluster: Cluster, name: str, guarantee: str
) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic)
    cluster.send(source, [(b"k", b"1"), (b"k", b"big"), (b"k", b"2")])
    settings = {"producer.max.request.size": 10_000, "processing.guarantee": guarantee}

    error = failure(cluster.application(copy(source, target, swollen), name, **settings))
    assert f"A record of 60001 bytes with key b'k' is too large for topic {target}" in str(error)
    assert "Raise producer.max.request.size" in str(error)
    assert "production.exception.handler" in str(error)

    handled = cluster.application(
        copy(source, target, swollen),
        name,
        production_exception_handler=handlers.log_and_continue,
        **settings,
    )
    with handled:
        wait_until(lambda: values(cluster, target, 2)[-2:] == [b"1", b"2"], "the others", handled)


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_a_record_that_is_larger_than_its_topic_takes(
    cluster: Cluster, name: str, guarantee: str
) -> None:
    source, target = f"{name}.in", f"{name}.out"
    cluster.kafka.create_topic(source)
    cluster.kafka.create_topic(target, max_message_bytes=10_000)
    cluster.send(source, [(b"k", b"1"), (b"k", b"big"), (b"k", b"2")])
    settings = {"producer.compression.type": "none", "processing.guarantee": guarantee}

    error = failure(cluster.application(copy(source, target, swollen), name, **settings))
    assert f"A record of 60001 bytes with key b'k' is too large for topic {target}" in str(error)
    assert "the topic's max.message.bytes" in str(error)

    larger = ConfigEntry("max.message.bytes", "100000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, target, incremental_configs=[larger])
    client = AdminClient(cluster.client)
    for future in client.incremental_alter_configs([resource]).values():
        future.result()
    with cluster.application(copy(source, target, swollen), name, **settings):
        # At least once: what had arrived before the error arrives again.
        found = values(cluster, target, 3)
    assert [len(value) for value in found[-3:]] == [1, 60_000, 1]
    assert guarantee == "at_least_once" or len(found) == 3


def test_a_topology_that_can_not_be_sent_to_workers(cluster: Cluster, name: str) -> None:
    cluster.kafka.create_topic(f"{name}.in")
    lock = threading.Lock()

    def hold(value: str) -> str:
        with lock:
            return value

    streams = cluster.application(copy(f"{name}.in", "x", hold), name)
    with pytest.raises(TopologyError, match=r"can't be sent to Spark's workers: .*lock.* init()"):
        streams.start()


def die(value: str) -> str:
    if value == "poison":
        os._exit(1)
    return value


def test_a_record_that_kills_its_worker(cluster: Cluster, name: str) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic)
    cluster.send(source, [(b"k", b"1"), (b"k", b"poison"), (b"k", b"2")])
    error = failure(cluster.application(copy(source, target, die), name))
    assert "A Python worker of Spark's died" in str(error)
    with cluster.application(copy(source, target), name):
        assert values(cluster, target, 3) == [b"1", b"poison", b"2"]


# Topics


def admin(cluster: Cluster) -> Admin:
    servers = cluster.kafka.bootstrap_servers
    config = StreamsConfig({"application.id": "test", "bootstrap.servers": servers})
    return Admin(ClientSettings(config))


def test_a_source_topic_is_deleted(cluster: Cluster, name: str) -> None:
    source, other, target = (f"{name}.{role}" for role in ("in", "other", "out"))
    for topic in (source, other, target):
        cluster.kafka.create_topic(topic)
    builder = StreamsBuilder()
    builder.stream([source, other], key=TEXT, value=TEXT).to(target)
    cluster.send(source, [(b"k", b"1")])
    with running_application(cluster.application(builder.build(), name)) as raised:
        assert values(cluster, target, 1) == [b"1"]
        admin(cluster).delete([source])
    assert isinstance(raised[0], MissingTopicError)
    assert f"don't exist: {source}. Create them first" in str(raised[0])

    cluster.kafka.create_topic(source)
    cluster.send(source, [(b"k", b"2"), (b"k", b"3")])
    cluster.send(other, [(b"k", b"4")])
    with cluster.application(builder.build(), name):
        found = values(cluster, target, 4)
    assert found[0] == b"1"
    assert sorted(found[1:]) == [b"2", b"3", b"4"]


def grow(cluster: Cluster, topic: str, partitions: int) -> None:
    client = AdminClient(cluster.client)
    for future in client.create_partitions([NewPartitions(topic, partitions)]).values():
        future.result()
    wait_until(lambda: admin(cluster).list_topics()[topic] == partitions, "the partitions")


def test_a_topic_gets_more_partitions_and_they_are_read(cluster: Cluster, name: str) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic)
    with cluster.application(copy(source, target), name) as streams:
        cluster.send(source, [(b"k", b"1")])
        assert values(cluster, target, 1) == [b"1"]
        grow(cluster, source, 2)
        cluster.send(source, [(b"k", b"2")], partition=1)
        cluster.send(source, [(b"k", b"3")], partition=0)
        wait_until(lambda: len(cluster.read(target, 3, 2)) == 3, "both partitions", streams)
    assert sorted(values(cluster, target, 3)) == [b"1", b"2", b"3"]


def test_a_topic_gets_more_partitions_than_the_internal_topics_have(
    cluster: Cluster, name: str, headrace: Headrace
) -> None:
    source, target, topology = counting(cluster, name)
    streams = cluster.application(topology, name)
    with running_application(streams) as raised:
        wait_for_counts(cluster, target, 50, streams)
        grow(cluster, source, 3)
        cluster.send(source, words(100)[50:])
    assert "Internal topics don't fit the topology" in str(raised[0])
    assert "-repartition must have 3 partitions, but has 2" in str(raised[0])
    assert "`headrace reset` deletes them" in str(raised[0])
    assert "don't fit" in str(failure(cluster.application(topology, name)))

    reset(headrace, cluster, name)
    with cluster.application(topology, name) as streams:
        wait_for_counts(cluster, target, 100, streams)


def reset(headrace: Headrace, cluster: Cluster, name: str) -> None:
    options = ("-a", name, "-s", f"state.dir={cluster.state_dir}")
    done = headrace("reset", *options, "--to", "earliest", "--execute")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("kind", ["changelog", "repartition"])
def test_an_internal_topic_is_deleted(
    cluster: Cluster, name: str, headrace: Headrace, kind: str
) -> None:
    source, target, topology = counting(cluster, name)
    streams = cluster.application(topology, name)
    with running_application(streams) as raised:
        wait_for_counts(cluster, target, 50, streams)
        (internal,) = [
            each
            for each in admin(cluster).list_topics()
            if each.startswith(f"{name}-") and each.endswith(kind)
        ]
        admin(cluster).delete([internal])
        cluster.send(source, words(100)[50:])
    assert internal in str(raised[0])
    assert "`headrace reset`" in str(raised[0])

    reset(headrace, cluster, name)
    with cluster.application(topology, name) as streams:
        wait_for_counts(cluster, target, 100, streams)


# State


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "small"
    path.mkdir()
    size = "size=1m"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", path], check=False)
    if mounted.returncode != 0:
        pytest.skip("a file system can't be mounted here")
    yield path
    # Spark's workers still have their files open.
    subprocess.run(["umount", "--lazy", path], check=True)


def table(source: str, target: str) -> Topology:
    builder = StreamsBuilder()
    builder.table(source, "latest", key=TEXT, value=TEXT).to_stream().to(target)
    return builder.build()


def test_the_disk_of_the_state_is_full(cluster: Cluster, name: str, small_disk: Path) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic, 2)
    topology = table(source, target)
    cluster.send(source, [(b"%d" % i, b"%d" % i) for i in range(10)])
    with running_application(
        cluster.application(topology, name, state_dir=str(small_disk))
    ) as raised:
        assert len(cluster.read(target, 10)) == 10
        cluster.send(source, [(b"%d" % i, b"%0100d" % i) for i in range(10, 10_010)])
    assert f"The state in {small_disk}/{name}/0_" in str(raised[0])
    assert "Its disk seems to be full: make room, or move state.dir" in str(raised[0])
    error = failure(cluster.application(topology, name, state_dir=str(small_disk)))
    assert "make room" in str(error) or "has room" in str(error)

    with cluster.application(topology, name) as streams:
        cluster.send(source, [(b"%d" % i, b"last") for i in range(10)])
        wait_until(lambda: len(cluster.read(target, 10_020, 2)) >= 10_020, "output", streams)
    written = Counter((each.key(), each.value()) for each in cluster.read(target, 10_020))
    assert set(written.values()) == {1}
    assert len(written) == 10_020


def test_a_state_directory_that_can_not_be_used(cluster: Cluster, name: str) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic)
    cluster.send(source, [(b"k", b"1")])
    cluster.state_dir.write_text("a file, where the directory should be")
    error = failure(cluster.application(table(source, target), name))
    assert f"State directory {cluster.state_dir}/{name} can't be used" in str(error)
    assert "set another state.dir" in str(error)
    foreign = cluster.state_dir.with_name("other")
    (foreign / name).mkdir(parents=True)
    (foreign / name / "novel.txt").write_text("It was a dark and stormy night")
    error = failure(cluster.application(table(source, target), name, state_dir=str(foreign)))
    assert f"{foreign}/{name} is not the state directory of application {name}" in str(error)
    assert (foreign / name / "novel.txt").exists()

    cluster.state_dir.unlink()
    with cluster.application(table(source, target), name):
        assert values(cluster, target, 1) == [b"1"]


def test_state_that_is_damaged_or_of_another_application(cluster: Cluster, name: str) -> None:
    source, target = f"{name}.in", f"{name}.out"
    for topic in (source, target):
        cluster.kafka.create_topic(topic, 2)
    other = f"{name}.other"
    cluster.kafka.create_topic(f"{other}.in", 2)
    cluster.kafka.create_topic(f"{other}.out", 2)
    cluster.send(f"{other}.in", words(7))
    with cluster.application(word_count(f"{other}.in", f"{other}.out"), other) as streams:
        wait_for_counts(cluster, f"{other}.out", 7, streams)

    topology = word_count(source, target)
    done = 0
    for damage in (lambda: None, *damages(cluster.state_dir / name, cluster.state_dir / other)):
        damage()
        cluster.send(source, words(done + 30)[done:])
        done += 30
        with cluster.application(topology, name) as streams:
            wait_for_counts(cluster, target, done, streams)


def damages(ours: Path, theirs: Path) -> Iterator[Callable[[], None]]:
    def each(damage: Callable[[Path], object]) -> Callable[[], None]:
        def run() -> None:
            files = list(ours.glob("1_*/data.mdb"))
            assert len(files) == 2
            for file in files:
                damage(file)

        return run

    yield each(lambda file: os.truncate(file, file.stat().st_size // 2))
    yield each(lambda file: file.write_bytes(os.urandom(file.stat().st_size)))
    yield each(lambda file: scribble(file))
    yield each(lambda file: shutil.copy(theirs / file.parent.name / file.name, file))


def scribble(file: Path) -> None:
    """Destroy all but the first two pages, which say where everything is."""
    with file.open("r+b") as data:
        data.seek(8192)
        data.write(os.urandom(file.stat().st_size - 8192))


# Processes

SLOWLY = """
import time
from pathlib import Path
from headrace import StreamsBuilder, serdes

def slowly(word):
    Path({began!r}).touch()
    time.sleep(0.01)
    return word

def topology():
    builder = StreamsBuilder()
    words = builder.stream({source!r}, key=serdes.string(), value=serdes.string())
    words.map_values(slowly).to({target!r}, key=serdes.string(), value=serdes.string())
    return builder.build()
"""


def test_run_is_ended_in_the_middle_of_a_batch(cluster: Cluster, name: str, tmp_path: Path) -> None:
    source, target, began = f"{name}.in", f"{name}.out", tmp_path / "began"
    for topic in (source, target):
        cluster.kafka.create_topic(topic)
    cluster.send(source, words(400))
    text = SLOWLY.format(source=source, target=target, began=str(began))
    (tmp_path / "slow.py").write_text(text)
    command = [sys.executable, "-m", "headrace", "run", "slow:topology", "-a", name]
    command += ["-b", cluster.kafka.bootstrap_servers, "-s", f"state.dir={cluster.state_dir}"]
    command += ["-s", "spark.master=local[2]", "-s", "max.batch.records=200"]
    # A terminal sends Ctrl-C to all processes that it has started.
    for number, send in ((signal.SIGTERM, os.kill), (signal.SIGINT, os.killpg)):
        began.unlink(missing_ok=True)
        with (
            (tmp_path / "log").open("w") as log,
            subprocess.Popen(
                command, cwd=tmp_path, stderr=log, start_new_session=True, text=True
            ) as it,
        ):
            try:
                deadline = time.monotonic() + 180
                while not began.exists() and it.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.1)
                send(it.pid, number)
                asked = time.monotonic()
                it.wait(30)
            finally:
                it.kill()
        said = (tmp_path / "log").read_text()
        assert it.returncode == 0, said
        assert time.monotonic() - asked < 15
        assert "Traceback" not in said
        assert f"{name} stopped after " in said
    cluster.send(source, words(10))
    with cluster.application(copy(source, target), name):
        found = values(cluster, target, 410)
    assert found == [word for _, word in words(400) + words(10)]


# Brokers


@pytest.fixture(scope="module", autouse=True)
def nobody_there() -> Iterator[Future[tuple[str, float]]]:
    """What start() says of a wrong address, and how long that takes: meanwhile, others test."""
    # Nobody listens at the address of a socket that is only bound.
    with socket.socket() as taken, ThreadPoolExecutor(1) as pool:
        taken.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{taken.getsockname()[1]}"
        streams = KafkaStreams(
            copy("in", "out"), application_id="nobody", bootstrap_servers=servers
        )

        def start() -> tuple[str, float]:
            began = time.monotonic()
            with pytest.raises(BrokerError, match=servers) as raised:
                streams.start()
            return str(raised.value), time.monotonic() - began

        yield pool.submit(start)


def test_nobody_is_there(nobody_there: Future[tuple[str, float]]) -> None:
    error, seconds = nobody_there.result(LIMIT_S)
    assert seconds < LIMIT_S
    assert "Check bootstrap.servers, and that the brokers are running" in error


def test_a_wrong_password_and_the_right_one(secured: Secured, name: str) -> None:
    _, target, topology = counting(secured, name)
    wrong = {
        **secured.settings,
        "sasl.jaas.config": secured.settings["sasl.jaas.config"].replace("client-secret", "oh-no"),
    }
    error = failure(secured.application(topology, name, **wrong))
    assert isinstance(error, BrokerError)
    assert "sasl.password" in str(error)
    assert "oh-no" not in str(error)
    with secured.application(topology, name, **secured.settings) as streams:
        wait_for_counts(secured, target, 50, streams)


def test_a_broker_goes_away(secured: Secured, name: str) -> None:
    source, target, topology = counting(secured, name)
    settings = {**secured.settings, "task.timeout.ms": 3_000}
    streams = secured.application(topology, name, **settings)
    try:
        with running_application(streams) as raised:
            wait_for_counts(secured, target, 50, streams)
            secured.kafka.kill_broker(1)
    finally:
        secured.kafka.start_broker(1)
    assert isinstance(raised[0], BrokerError)
    assert secured.kafka.bootstrap_servers in str(raised[0])
    assert "task.timeout.ms" in str(raised[0])

    secured.send(source, words(100)[50:])
    with secured.application(topology, name, **settings) as streams:
        wait_for_counts(secured, target, 100, streams)
        close(streams)


def test_passwords_over_tls(session: SparkSession, name: str, tmp_path: Path) -> None:
    source, target = f"{name}.in", f"{name}.out"
    with EmbeddedKafka(security="SASL_SSL") as kafka:
        cluster = Secured(kafka, session, tmp_path)
        for topic in (source, target):
            kafka.create_topic(topic, 2)
        cluster.send(source, words(50))
        topology = word_count(source, target)
        untrusting = {
            key: value for key, value in cluster.settings.items() if "truststore" not in key
        }
        error = failure(cluster.application(topology, name, **untrusting))
        assert isinstance(error, BrokerError)
        assert "certificates (ssl.…)" in str(error)
        with cluster.application(topology, name, **cluster.settings) as streams:
            wait_for_counts(cluster, target, 50, streams)
