"""The claim: which run of an application is the one that counts."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

import orjson

from headrace.core.errors import FencedError, StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan
from headrace.kafka.internal_topics import claim_topic
from headrace.kafka.port import Kafka, Outgoing, Position, SlotProducer

CLAIM = "claim"
"""Names the producer that all who claim an application write with, one after the other."""

_KEY = b"claim"


@dataclass(frozen=True)
class Claimed:
    """What the run that counts has left: its number, how many slots it or any run before it can
    have had, who it is, and the inputs it has positions of: topics with their id and partitions."""

    run: int
    slots: int
    instance: str
    inputs: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def has_read(self, partition: TopicPartition, topic_id: str | None) -> bool:
        """Whether the run had a position of this partition, and of this topic: not of an earlier
        one of the same name."""
        known_id, partitions = self.inputs.get(partition.topic, ("", 0))
        return known_id == topic_id and partition.partition < partitions

    def has_read_another(self, topic: str, topic_id: str | None) -> bool:
        """Whether the run has read another topic of the same name."""
        return topic in self.inputs and self.inputs[topic][0] != topic_id

    def to_json(self) -> bytes:
        return orjson.dumps(self)

    @classmethod
    def from_json(cls, text: bytes) -> Claimed:
        """Raises StreamsError if that isn't a claim."""
        try:
            found = orjson.loads(text)
            inputs = {topic: (id_, count) for topic, (id_, count) in found["inputs"].items()}
            return cls(found["run"], found["slots"], found["instance"], inputs)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StreamsError(
                f"The claim on the application can't be read, somebody else has written it: "
                f"{error!r}. Stop all instances, and delete the topic <application.id>-headrace."
            ) from error


class Claim:
    """A record in a topic of its own, `<application.id>-headrace`, whatever the topology.

    It is written in transactions of one transactional id, so that of several who are about to
    claim an application only the last to begin can (ADR 6).
    """

    def __init__(self, kafka: Kafka, plan: Plan) -> None:
        self._kafka = kafka
        self._run = plan.run
        self._application = plan.config.application_id
        self._at = TopicPartition(claim_topic(self._application), 0)
        self._seen = -1
        self._current: Claimed | None = None

    def current(self) -> Claimed | None:
        """The claim as it is when nobody is writing it: who is, is waited for."""
        self._read(self._kafka.changelogs.ends([self._at])[self._at])
        return self._current

    def seen(self) -> Claimed | None:
        """The claim as everybody can see it now.

        Costs one request: only if something new is in the topic, it is read.
        """
        end = self._kafka.group.end_offsets([self._at])[self._at]
        if end != self._seen:
            self._read(end)
        return self._current

    def write(
        self,
        producer: SlotProducer,
        claimed: Claimed,
        positions: Mapping[TopicPartition, Position] | None = None,
    ) -> None:
        """Write the claim, and positions of the application's group with it: both, or nothing.

        When it returns, everybody can see it: a commit is told before it can be read. Raises
        FencedError if another has begun to claim the application since `producer` was opened.
        """
        topic, number = self._at
        record: Outgoing = (topic, number, _KEY, claimed.to_json(), None, ())
        producer.send([record])
        producer.commit(self._kafka.group.group_metadata(), positions or {})
        self.current()

    def check(self) -> None:
        """Raises FencedError if another run has claimed the application since."""
        current = self.seen()
        if current is None or current.run != self._run:
            raise self.lost_to(current)

    def lost_to(self, other: Claimed | None) -> FencedError:
        """What to raise if the claim is another's, or nobody's."""
        if other is None:
            return FencedError(
                f"The claim on application {self._application!r} is gone: topic {self._at.topic} "
                "was deleted, as `headrace reset` does. This instance stops."
            )
        return FencedError(
            f"Another instance of application {self._application!r}, on "
            f"{host_of(other.instance)}, has started and took over: this one stops. Run one at a "
            "time, or give them different application ids."
        )

    def _read(self, end: int) -> None:
        current = None
        for records, _ in self._kafka.changelogs.read(self._at, 0, end):
            for key, value, _, _ in records:
                if key == _KEY and value is not None:
                    current = Claimed.from_json(value)
        self._current, self._seen = current, end


def fence(kafka: Kafka, slots: Iterable[int]) -> None:
    """Have nobody who has one of the slots now commit any more."""

    def take(slot: int) -> None:
        with closing(kafka.producer_named(str(slot))) as producer:
            producer.open()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take, slots))


def instance_name(port: int | None = None) -> str:
    """A name that no other instance has, with the host and the port of its server, if any."""
    host = socket.gethostname() + ("" if port is None else f":{port}")
    return f"{host}/{secrets.token_hex(4)}"


def host_of(instance: str) -> str:
    """Where an instance runs: its host, and the port of its server if it has one."""
    return instance.partition("/")[0]
