"""Applications in processes of their own, which lose Java or Kafka, or are to end at a bad time."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, Producer

from headrace.embedded import EmbeddedKafka
from tests.chaos import ROOT
from tests.chaos.processes import end_session, kill, of_session

PATIENCE_S = 180.0
END_S = 40.0
"""A process that is told to end has 25 s; the machine may be busy."""


class Supervised:
    """A process with one application, or several."""

    def __init__(self, kafka: EmbeddedKafka, directory: Path, *names: str) -> None:
        self.directory = directory
        self.temporary = directory / "temporary"
        self.temporary.mkdir()
        self._kafka = kafka
        self._names = names
        for name in names:
            for role in ("in", "out"):
                kafka.create_topic(f"{name}.{role}")

    @contextmanager
    def running(self) -> Iterator[None]:
        settings = {
            "bootstrap.servers": self._kafka.bootstrap_servers,
            "processing.guarantee": "exactly_once_v2",
            "auto.offset.reset": "earliest",
            "state.dir": str(self.directory / "state"),
            "statestore.cache.max.bytes": 0,
            "spark.master": "local[2]",
        }
        program = [sys.executable, "-m", "tests.integration.supervised"]
        with (self.directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*program, json.dumps(settings), *self._names],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary)},
                start_new_session=True,
            )
        try:
            yield
        finally:
            end_session(self._process.pid)
            self._process.wait()

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text(errors="replace")

    @property
    def java(self) -> list[int]:
        return [each.pid for each in of_session(self._process.pid) if each.name == "java"]

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            ended = self._process.poll()
            assert ended is None, f"ended with {ended} before {what}:\n{self.log}"
            assert time.monotonic() < deadline, f"waited in vain for {what}:\n{self.log}"
            time.sleep(0.1)

    def wait_for_file(self, name: str) -> None:
        self.wait_for((self.directory / name).exists, name)

    def wait_for_word(self, word: str) -> None:
        self.wait_for(lambda: word in self.log, word)

    def terminate(self) -> None:
        self._process.terminate()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> int:
        """Its code, when it has ended by itself."""
        began = time.monotonic()
        code = self._process.wait(END_S)
        print(f"ended within {time.monotonic() - began:.1f} s")
        return code

    # Words

    def send(self, name: str, *words: str) -> None:
        producer = Producer({"bootstrap.servers": self._kafka.bootstrap_servers})
        for word in words:
            producer.produce(f"{name}.in", word, word)
        assert producer.flush(60) == 0

    def results(self, name: str) -> list[tuple[str, int]]:
        """All that is committed."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._kafka.bootstrap_servers,
                "group.id": f"test-{time.monotonic_ns()}",
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
            }
        )
        consumer.subscribe([f"{name}.out"])
        found = []
        while (message := consumer.poll(60)) is not None and message.error() is None:
            key, value = message.key(), message.value()
            assert key is not None
            assert value is not None
            found.append((key.decode(), int.from_bytes(value, "big")))
        consumer.close()
        return found

    def wait_for_results(self, name: str, *words: str) -> None:
        """Each count of each word once."""
        counts: Counter[str] = Counter()
        expected = []
        for word in words:
            counts[word] += 1
            expected.append((word, counts[word]))
        self.wait_for(lambda: len(self.results(name)) >= len(expected), f"counts of {words}")
        assert self.results(name) == expected

    def assert_tidy(self) -> None:
        """Neither Python's nor Java's stacks, and nothing left of its temporary files."""
        assert not re.search(
            r"Traceback|^\s+at [\w.$]+\(|Exception in thread", self.log, re.MULTILINE
        ), self.log
        assert list(self.temporary.glob("headrace-*")) == []


def test_a_java_process_that_is_killed_is_replaced(
    embedded_kafka: EmbeddedKafka, tmp_path: Path, name: str
) -> None:
    it = Supervised(embedded_kafka, tmp_path, name)
    it.send(name, "a", "b", "a")
    with it.running():
        it.wait_for_results(name, "a", "b", "a")
        (before,) = it.java
        assert kill(before)
        it.send(name, "b", "a", "c")
        it.wait_for_results(name, "a", "b", "a", "b", "a", "c")
        (after,) = it.java
        it.terminate()
        assert it.end() == 0, it.log
    assert after != before
    assert "Spark's Java process has ended" in it.log
    assert "asked" not in it.log
    assert list(it.temporary.glob("headrace-*")) == []


def test_it_ends_when_it_is_told_to_though_kafka_is_away(tmp_path: Path, name: str) -> None:
    with EmbeddedKafka() as kafka:
        it = Supervised(kafka, tmp_path, name)
        it.send(name, "a")
        with it.running():
            it.wait_for_results(name, "a")
            kafka.kill_broker(1)
            it.wait_for_word("Connection refused")
            it.terminate()
            assert it.end() == 0, it.log
    it.assert_tidy()


def test_it_ends_when_it_is_told_to_in_the_middle_of_init(
    embedded_kafka: EmbeddedKafka, tmp_path: Path, name: str
) -> None:
    it = Supervised(embedded_kafka, tmp_path, name)
    (tmp_path / "init-waits").touch()
    with it.running():
        it.wait_for_file("waiting")
        it.terminate()
        assert it.end() == 0, it.log
    it.assert_tidy()


def test_it_ends_in_the_middle_of_a_batch_and_at_once_if_it_is_told_twice(
    embedded_kafka: EmbeddedKafka, tmp_path: Path, name: str
) -> None:
    it = Supervised(embedded_kafka, tmp_path, name)
    it.send(name, "a", "wait", "b")
    with it.running():
        it.wait_for_file("waiting")
        it.terminate()
        assert it.end() == 0, it.log
    it.assert_tidy()
    assert "it is given up, and will be done again" in it.log

    (tmp_path / "waiting").unlink()
    with it.running():
        it.wait_for_file("waiting")
        it.terminate()
        it.wait_for_word("PENDING_SHUTDOWN")
        assert it.is_alive
        it.terminate()
        assert it.end() == -signal.SIGTERM


def test_the_first_of_two_applications_leaves_spark_to_the_second(
    embedded_kafka: EmbeddedKafka, tmp_path: Path, name: str
) -> None:
    one, other = f"{name}-1", f"{name}-2"
    it = Supervised(embedded_kafka, tmp_path, one, other)
    it.send(one, "a")
    it.send(other, "a")
    with it.running():
        it.wait_for_results(one, "a")
        it.wait_for_results(other, "a")
        (tmp_path / "close").touch()
        it.wait_for_word("closed None")
        it.send(other, "b", "a")
        it.wait_for_results(other, "a", "b", "a")
        assert len(it.java) == 1
        (tmp_path / "end").touch()
        assert it.end() == 0, it.log
    assert it.log.count("closed None") == 2
    it.assert_tidy()
