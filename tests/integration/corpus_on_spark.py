"""Recorded cases of Kafka Streams, run by applications on a real Kafka and a real Spark."""

from __future__ import annotations

import re
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from headrace import KafkaStreams, ProducerRecord, State, StreamsError, Topology
from headrace.embedded import EmbeddedKafka
from headrace.testing import TopologyTestDriver
from tests.conformance.build import build
from tests.conformance.cases import Case
from tests.conformance.compare import compare
from tests.conformance.run import Topics, settings

PATIENCE_S = 120.0
AT_ONCE = 6
"""So many applications share the cluster."""

_POLL_S = 0.03
_PREFIXES = (f"c{number}z." for number in count(1))


# Which cases


def obstacle(case: Case) -> str | None:
    """Why the recorded output of a case can't be expected of an application."""
    operations = case["topology"]
    if "input" not in case:
        return "it is only built and described"
    if case.get("error", {}).get("phase") in ("build", "start"):
        return "it doesn't get as far as records"
    if not case.get("output") and "error" not in case:
        return "it sends nothing"
    if case.get("tie"):
        return "its order isn't specified"
    if any(op.get("extractor", "").startswith("by_header") for op in operations):
        return "its output topics have fixed names"
    if "max.task.idle.ms" in case["config"] and case["config"]["max.task.idle.ms"] > 0:
        return "its records wait for a clock that stands still"
    if _is_cached(case) and "KTABLE-SELECT-" in case["describe"]:
        return "its aggregates of a table show what a cache lets through"
    if any(_by_the_clock(op.get("processor", {})) for op in operations):
        return "it shows the clock"
    if any(_is_throttled(op) for op in operations) and not _unthrottled(case["config"]):
        return "results are looked for by a clock that stands still"
    return None


def _by_the_clock(processor: Any) -> bool:
    schedules = processor.get("schedules", [processor])
    return processor.get("type") == "metadata" or any(
        schedule.get("kind") == "wall" for schedule in schedules
    )


def _is_throttled(op: dict[str, Any]) -> bool:
    joins_streams = op["op"] in ("left_join", "outer_join") and "window" in op
    return joins_streams or op.get("emit") == "on_window_close"


def _unthrottled(config: Mapping[str, Any]) -> bool:
    return any(key.startswith("__emit.interval.ms") and config[key] == 0 for key in config)


def is_partitioned(case: Case, partitions: int) -> bool:
    """Whether the output of each key is the same with more partitions, each with its own time.

    Of records that had other keys before, it isn't specified which comes first.
    """
    steps = _records(case)
    if "error" in case or _subtopologies(case) > 1 or _brings_keys_together(case):
        return False
    if any(step.get("key", step.get("key_b64")) is None for step in steps):
        return False
    topology = build(case, settings(case), _unseen)
    sent: list[ProducerRecord] = []
    with TopologyTestDriver(topology, settings(case), partitions=partitions) as driver:
        for step in steps:
            driver.pipe(*_message(Topics(case["topology"]), step))
        sent = driver.take_output()
    known = {record["topic"] for record in case["output"]}
    return not _differences(case, [record for record in sent if record.topic in known])


def _brings_keys_together(case: Case) -> bool:
    came_from: dict[tuple[str, str | None], Any] = {}
    for record in case["output"]:
        step = case["input"][record["cause"]]
        key = step.get("key", step.get("key_b64"))
        if came_from.setdefault((record["topic"], record["key_b64"]), key) != key:
            return True
    return False


def rounds(case: Case) -> list[list[dict[str, Any]]]:
    """The input in as few parts as keep the recorded order, if each is processed completely before
    the next is sent.

    A task takes the record with the smallest timestamp first. If there are several sub-topologies,
    it isn't specified when a record of one gets to the other: then only records of one topic go
    together, and before a foreign-key join, whose answers come late, only one of a key.
    """
    steps = _records(case)
    if len({step["topic"] for step in steps}) == 1:
        return [steps]
    if any(op["op"].startswith("fk_") for op in case["topology"]):
        go_together = _other_key
    else:
        go_together = _in_order if _subtopologies(case) == 1 else _same_topic
    parts = [steps[:1]]
    for step in steps[1:]:
        if not go_together([*parts[-1], step]):
            parts.append([])
        parts[-1].append(step)
    return parts


def beginning(case: Case, parts: int) -> Case:
    """The case up to the end of so many rounds, with what it had sent by then."""
    together = rounds(case)
    if len(together) <= parts:
        return case
    kept = together[parts - 1][-1]
    last = next(index for index, step in enumerate(case["input"]) if step is kept)
    short = {
        **case,
        "input": case["input"][: last + 1],
        "output": [record for record in case["output"] if record["cause"] <= last],
    }
    if case.get("error", {}).get("cause", 0) > last:
        del short["error"]
    return short


def _records(case: Case) -> list[dict[str, Any]]:
    return [step for step in case["input"] if "topic" in step]


def _subtopologies(case: Case) -> int:
    return str(case["describe"]).count("Sub-topology: ")


def _in_order(steps: list[dict[str, Any]]) -> bool:
    """Whether a merge by the smallest timestamps keeps the order of the steps."""
    for index, step in enumerate(steps):
        heads: dict[str, int] = {}
        for later in steps[index:]:
            heads.setdefault(later["topic"], later["ts"])
        del heads[step["topic"]]
        if heads and min(heads.values()) <= step["ts"]:
            return False
    return True


def _same_topic(steps: list[dict[str, Any]]) -> bool:
    return len({step["topic"] for step in steps}) == 1


def _other_key(steps: list[dict[str, Any]]) -> bool:
    keys = [step.get("key") for step in steps]
    return _same_topic(steps) and len(set(keys)) == len(keys)


# A case in a cluster that it shares with others


class Run:
    """A case whose topics, and whose application, have names of their own."""

    def __init__(self, case: Case, partitions: int = 1) -> None:
        self.recorded = case
        self.partitions = partitions
        self.prefix = next(_PREFIXES)
        self.case = _relocated(case, self.prefix)
        self.rounds = rounds(case)
        self.sent: list[ProducerRecord] = []
        self.problem: str | None = None
        self.seconds = 0.0
        self._topics = Topics(self.case["topology"])

    def __str__(self) -> str:
        many = f" with {self.partitions} partitions" if self.partitions > 1 else ""
        return f"{self.recorded['id']}{many}"

    @cached_property
    def topology(self) -> Topology:
        return build(self.case, self.settings, _unseen)

    @cached_property
    def settings(self) -> dict[str, Any]:
        return {**settings(self.case), "application.id": f"{self.prefix}app"}

    def messages(self, part: int) -> Iterator[Message]:
        for step in self.rounds[part]:
            yield _message(self._topics, {**step, "topic": self.prefix + step["topic"]})

    def topics(self) -> set[str]:
        """All topics but internal ones."""
        read = {self.prefix + step["topic"] for step in _records(self.recorded)}
        named = {
            topic
            for op in self.case["topology"]
            for topic in (*op.get("topics", ()), op.get("topic"))
            if topic is not None
        }
        return read | named | self.output_topics()

    def output_topics(self) -> set[str]:
        """A topic that is named after the one read has the prefix twice."""
        sources = {step["topic"] for step in _records(self.recorded)}
        by_source = [
            op["extractor"].partition(":")[2]
            for op in self.recorded["topology"]
            if op.get("extractor", "").startswith("by_source_topic")
        ]
        dynamic = {
            start + source: start + self.prefix + source
            for start in by_source
            for source in sources
        }
        names = {record["topic"] for record in self.recorded["output"]}
        return {self.prefix + dynamic.get(name, name) for name in names}

    def differences(self) -> list[str]:
        if self.problem is not None:
            return [self.problem]
        return _differences(self.recorded, map(self._bare, self.sent))

    def _bare(self, record: ProducerRecord) -> ProducerRecord:
        """Without the prefix, wherever it is."""
        prefix = self.prefix.encode()

        def bare(data: bytes | None) -> bytes | None:
            return None if data is None else data.replace(prefix, b"")

        return record._replace(
            topic=record.topic.replace(self.prefix, ""),
            key=bare(record.key),
            value=bare(record.value),
            headers=tuple((name, bare(value)) for name, value in record.headers),
        )


Message = tuple[str, bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]


def _message(topics: Topics, step: dict[str, Any]) -> Message:
    headers = [(name, _from_b64(text)) for name, text in step.get("headers", ())]
    return (step["topic"], *topics.encoded(step), step["ts"], headers)


def _unseen(_: object) -> None:
    """Functions run in other processes: nobody can see what they see."""


_DLQ = "errors.dead.letter.queue.topic.name"


def _relocated(case: Case, prefix: str) -> Case:
    """The case with all its topics under a prefix."""
    config = dict(case["config"])
    if _DLQ in config:
        config[_DLQ] = prefix + config[_DLQ]
    return {
        **case,
        "config": config,
        "topology": [_relocated_operation(op, prefix) for op in case["topology"]],
    }


def _relocated_operation(op: dict[str, Any], prefix: str) -> dict[str, Any]:
    moved = dict(op)
    if "topic" in op:
        moved["topic"] = prefix + op["topic"]
    if "topics" in op:
        moved["topics"] = [prefix + topic for topic in op["topics"]]
    if "pattern" in op:
        moved["pattern"] = f"{re.escape(prefix)}(?:{op['pattern']})"
    if op["op"] in ("to", "add_sink") and "extractor" in op:
        name, _, argument = op["extractor"].partition(":")
        moved["extractor"] = f"{name}:{prefix}{argument}"
    for role in ("branches", "default"):
        if role in op:
            branches = op[role] if role == "branches" else [op[role]]
            consumed = [
                {**branch, "consumer_to": prefix + branch["consumer_to"]}
                if "consumer_to" in branch
                else branch
                for branch in branches
            ]
            moved[role] = consumed if role == "branches" else consumed[0]
    return moved


# Comparing


def _differences(case: Case, sent: Iterable[ProducerRecord]) -> list[str]:
    """Compares by topic and key. With caches only the last record of a key is certain; with an
    error, nothing that the recorded run had not sent."""
    expected = _by_key(map(_recorded_form, case["output"]))
    got = _by_key(map(_form, sent))
    for name in expected:
        got.setdefault(name, [])
    if _is_cached(case):
        expected = {name: _last(records) for name, records in expected.items()}
        got = {name: _last(records) for name, records in got.items()}
    if "error" in case:
        expected = {name: expected.get(name, [])[: len(got[name])] for name in got}
    for name, records in got.items():
        for theirs, ours in zip(expected.get(name, []), records, strict=False):
            # Librdkafka can't send the timestamp 0.
            if theirs["ts"] == 0 and ours["ts"] == 1:
                ours["ts"] = 0
    nothing: dict[str, Any] = {"observed": [], "internal": [], "changelogs": [], "stores": {}}
    return compare(
        {"input": [], "tie": True, "output": _in_sequence(expected)},
        {**nothing, "output": _in_sequence(got)},
    )


def _is_cached(case: Case) -> bool:
    return case["config"].get("statestore.cache.max.bytes") != 0 and case.get("api") != "papi"


def _last(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What came and went before a commit isn't sent at all."""
    return [record for record in records[-1:] if record["value_b64"] is not None]


def _recorded_form(record: dict[str, Any]) -> dict[str, Any]:
    fields = ("topic", "ts", "headers", "key_b64", "value_b64")
    return {field: record[field] for field in fields if field in record}


def _form(record: ProducerRecord) -> dict[str, Any]:
    form: dict[str, Any] = {"topic": record.topic, "ts": record.timestamp}
    if record.headers:
        form["headers"] = [[name, _to_b64(value)] for name, value in record.headers]
    return {**form, "key_b64": _to_b64(record.key), "value_b64": _to_b64(record.value)}


def _by_key(forms: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for form in forms:
        name = f"{form['topic']} {form['key_b64']}"
        found.setdefault(name, []).append({**form, "topic": name})
    return found


def _in_sequence(by_key: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [record for name in sorted(by_key) for record in by_key[name]]


def _to_b64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _from_b64(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


# Running


class CorpusOnSpark:
    """Runs cases, several at once."""

    def __init__(self, kafka: EmbeddedKafka, spark: SparkSession, directory: Path) -> None:
        self._servers = kafka.bootstrap_servers
        self._spark = spark
        self._directory = directory
        self._admin = AdminClient({"bootstrap.servers": self._servers})
        self._producer = JavaProducer(spark, self._servers)

    def close(self) -> None:
        self._producer.close()

    def check(self, runs: list[Run]) -> list[str]:
        """What differs from the records, run by run."""
        self._create_topics(runs)
        for run in runs:
            self._producer.send(run.messages(0))
        self._producer.flush()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._run, runs))
        self._read(runs)
        return [
            "\n".join([str(run), *differences])
            for run in runs
            if (differences := run.differences())
        ]

    def _create_topics(self, runs: list[Run]) -> None:
        new = [NewTopic(name, run.partitions) for run in runs for name in run.topics()]
        for future in self._admin.create_topics(new).values():
            future.result()
        names = {topic.topic for topic in new}
        while True:
            known = self._admin.list_topics(timeout=PATIENCE_S).topics
            if all(name in known and _is_led(known[name]) for name in names):
                return
            time.sleep(_POLL_S)

    def _run(self, run: Run) -> None:
        began = time.monotonic()
        streams = KafkaStreams(
            run.topology,
            {
                **run.settings,
                "bootstrap.servers": self._servers,
                "state.dir": str(self._directory),
                "processing.guarantee": "exactly_once_v2",
                "num.stream.threads": 1,
                "commit.interval.ms": 20,
            },
            spark=self._spark,
        )
        try:
            with streams:
                self._feed(run, streams)
        except Exception as error:
            if "error" not in run.recorded or not _is_expected(error, run.recorded["error"]):
                run.problem = f"it failed: {type(error).__name__}: {error} <- {error.__cause__}"
        else:
            if "error" in run.recorded:
                run.problem = f"it should have failed with {run.recorded['error']}"
        run.seconds = time.monotonic() - began

    def _feed(self, run: Run, streams: KafkaStreams) -> None:
        settled = Settled(self._admin, streams, run.topics())
        for part in range(len(run.rounds)):
            if part:
                self._producer.send(run.messages(part))
                self._producer.flush()
            deadline = time.monotonic() + PATIENCE_S
            while not settled():
                if streams.state is State.ERROR and streams.error is not None:
                    raise streams.error
                if time.monotonic() > deadline:
                    raise AssertionError(f"round {part} is not processed: {streams.status()}")
                time.sleep(_POLL_S)

    def _read(self, runs: list[Run]) -> None:
        """All that the applications have committed to their output topics."""
        run_of = {topic: run for run in runs for topic in run.output_topics()}
        parts = [
            TopicPartition(topic, number, 0)
            for topic, run in run_of.items()
            for number in range(run.partitions)
        ]
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "corpus",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        consumer.assign(parts)
        at_end: set[tuple[str, int | None]] = set()
        deadline = time.monotonic() + PATIENCE_S
        while len(at_end) < len(parts):
            assert time.monotonic() < deadline, "the output can't be read"
            message = consumer.poll(0.2)
            if message is None:
                continue
            record = _record(message)
            if message.error() is not None:
                at_end.add((record.topic, message.partition()))
            else:
                run_of[record.topic].sent.append(record)
        consumer.close()


def _is_led(topic: Any) -> bool:
    return bool(topic.partitions) and all(part.leader >= 0 for part in topic.partitions.values())


def _record(message: Any) -> ProducerRecord:
    return ProducerRecord(
        message.topic(),
        message.partition(),
        message.key(),
        message.value(),
        message.timestamp()[1],
        tuple(message.headers() or ()),
    )


def _is_expected(error: Exception, recorded: dict[str, Any]) -> bool:
    if not isinstance(error, StreamsError):
        return False
    origin = (recorded.get("chain") or [recorded])[-1]
    return origin["class"] != "UserException" or origin["message"] in f"{error} {error.__cause__}"


@dataclass
class Settled:
    """Tells whether an application has processed all that there is, in internal topics too."""

    admin: AdminClient
    streams: KafkaStreams
    plain_topics: set[str]
    """Nobody writes to them in transactions. Elsewhere the last entry is a transaction's mark."""

    def __call__(self) -> bool:
        if self.streams.state is not State.RUNNING:
            return False
        positions = {
            (topic, int(number)): offset
            for report in self.streams.status().tasks.values()
            for topic, offsets in report.positions.items()
            for number, offset in offsets.items()
        }
        inputs = {
            (part.topic, part.partition)
            for thread in self.streams.metadata_for_local_threads()
            for task in thread.tasks
            for part in task.partitions
        }
        # Marks of transactions come after their commits, and records are only read with them.
        written = self._ends(inputs, IsolationLevel.READ_UNCOMMITTED)
        ends = self._ends(inputs, IsolationLevel.READ_COMMITTED)
        return ends == written and all(
            positions.get(part, 0) >= end - (part[0] not in self.plain_topics)
            for part, end in ends.items()
            if end
        )

    def _ends(
        self, parts: Iterable[tuple[str, int]], level: IsolationLevel
    ) -> dict[tuple[str, int], int]:
        asked = {TopicPartition(*part): OffsetSpec.latest() for part in parts}  # type: ignore[no-untyped-call]
        found = self.admin.list_offsets(asked, isolation_level=level)
        return {
            (part.topic, part.partition): future.result().offset for part, future in found.items()
        }


class JavaProducer:
    """Kafka's own producer, in Spark's Java process: it can send the timestamp 0."""

    def __init__(self, spark: SparkSession, servers: str) -> None:
        self._java: Any = spark._jvm
        assert self._java is not None
        settings = self._java.java.util.HashMap()
        settings.put("bootstrap.servers", servers)
        settings.put("linger.ms", "0")
        settings.put("enable.idempotence", "false")
        settings.put("max.in.flight.requests.per.connection", "1")
        for role in ("key", "value"):
            settings.put(
                f"{role}.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer"
            )
        self._clients = self._java.org.apache.kafka.clients.producer
        self._producer = self._clients.KafkaProducer(settings)
        self._sent: list[Any] = []

    def send(self, messages: Iterable[Message]) -> None:
        """In this order, also over several topics."""
        topic_before: str | None = None
        for topic, key, value, timestamp, headers in messages:
            if topic_before not in (None, topic):
                self.flush()
            topic_before = topic
            record = self._clients.ProducerRecord(
                topic, None, self._java.java.lang.Long(timestamp), key, value
            )
            for name, data in headers:
                record.headers().add(name, data)
            self._sent.append(self._producer.send(record))

    def flush(self) -> None:
        self._producer.flush()
        while self._sent:
            self._sent.pop().get()

    def close(self) -> None:
        self._producer.close()
