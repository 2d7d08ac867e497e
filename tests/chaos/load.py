"""Input, the same for the same seed: with late records, equal timestamps and moving rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from confluent_kafka import KafkaException, Producer

from headrace.core.record import TopicPartition
from headrace.serde.murmur2 import partition_for

from .pipeline import Pipeline

HOUR_MS = 3_600_000
CLICK_EVERY_MS = 100
USERS, CATEGORIES, ORDERS, CUSTOMERS = 40, 12, 150, 25


class Given(NamedTuple):
    """A record of the input."""

    topic: str
    partition: int
    key: bytes
    value: bytes | None
    timestamp: int


@dataclass(frozen=True)
class Load:
    """The input of a run: `clicks` records of that topic, and others in proportion.

    Event time begins at `start_ms`. Let it be near the present, as brokers delete what is older
    than the retention of a changelog.
    """

    pipeline: Pipeline
    seed: int
    clicks: int = 6000
    start_ms: int = 1_700_000_000_000 // HOUR_MS * HOUR_MS

    @cached_property
    def records(self) -> Sequence[Given]:
        """In the order in which they are produced."""
        return tuple(_Generator(self).records())

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """How many records each partition of the input has."""
        found = Counter(TopicPartition(given.topic, given.partition) for given in self.records)
        return {
            partition: found[partition]
            for topic in self.pipeline.inputs
            for partition in map(TopicPartition, [topic] * 99, range(self.pipeline.partitions))
        }

    def upto(self, clicks: int) -> Load:
        """The load that begins as this one, but has only so many clicks."""
        return replace(self, clicks=clicks)

    def position(self, clicks: int) -> int:
        """How many records there are up to and with that many clicks."""
        topic = self.pipeline.clicks
        of_clicks = (i for i, given in enumerate(self.records, 1) if given.topic == topic)
        return next(islice(of_clicks, clicks - 1, None)) if clicks else 0


class Feed:
    """Writes the records of a load bit by bit, each once and in order."""

    def __init__(self, load: Load, bootstrap_servers: str) -> None:
        self.load = load
        self.clicks = 0
        """How many have been written."""
        self.has_ended = False
        self._failed: list[str] = []
        # Whatever happens to the broker meanwhile: the input is not what is tested.
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "message.timeout.ms": 300_000,
                "linger.ms": 0,
                "log_level": 3,
            }
        )

    def more(self, clicks: int) -> None:
        """Write so many clicks more, if there are any left, and all that is between them."""
        upto = min(self.clicks + clicks, self.load.clicks)
        start, stop = self.load.position(self.clicks), self.load.position(upto)
        self.clicks = upto
        self._write(self.load.records[start:stop])

    def end(self) -> Load:
        """Write the end of what has been begun, and give the load that it makes up."""
        self.has_ended = True
        load = self.load.upto(self.clicks)
        self._write(load.records[load.position(self.clicks) :])
        if self._producer.flush(300) or self._failed:
            raise KafkaException(f"The input could not be produced: {self._failed[:3]}")
        return load

    def _write(self, records: Sequence[Given]) -> None:
        for given in records:
            self._producer.produce(
                given.topic,
                given.value,
                given.key,
                given.partition,
                timestamp=given.timestamp,
                on_delivery=self._note,
            )
            self._producer.poll(0)

    def _note(self, error: object, message: object) -> None:
        if error is not None:
            self._failed.append(str(error))


class _Generator:
    def __init__(self, load: Load) -> None:
        self._load = load
        self._random = random.Random(load.seed)
        self._ids: set[int] = set()
        self._versions = 0
        self._last_click: tuple[str, int] | None = None
        names = load.pipeline
        self._makers: dict[str, Callable[[int], tuple[str, str | None, int]]] = {
            names.clicks: self._click,
            names.buys: self._buy,
            names.orders: self._order,
            names.customers: self._customer,
        }

    def records(self) -> Iterator[Given]:
        names = self._load.pipeline
        others = [names.clicks] * 3 + [names.buys] * 2 + [names.orders, names.customers]
        written = 0
        while written < self._load.clicks:
            now = self._load.start_ms + written * CLICK_EVERY_MS
            topic = names.clicks if self._chance(0.5) else self._random.choice(others)
            written += topic == names.clicks
            yield self._record(topic, *self._makers[topic](now))
        # In the end every customer is there: a row that joins nothing could keep an old result.
        for customer in range(CUSTOMERS):
            yield self._record(names.customers, f"c{customer}", self._version(), now)

    def _record(self, topic: str, key: str, value: str | None, timestamp: int) -> Given:
        raw = key.encode()
        partition = partition_for(raw, self._load.pipeline.partitions)
        return Given(topic, partition, raw, None if value is None else value.encode(), timestamp)

    def _click(self, now: int) -> tuple[str, str, int]:
        value = f"k{self._random.randrange(CATEGORIES)}:{self._id()}"
        if self._last_click is not None and self._chance(0.05):
            return (*self._last_click[:1], value, *self._last_click[1:])  # at the same moment
        user, time = self._user(), self._time(now)
        self._last_click = user, time
        return user, value, time

    def _buy(self, now: int) -> tuple[str, str, int]:
        return self._user(), str(self._id()), self._time(now)

    def _order(self, now: int) -> tuple[str, str | None, int]:
        order = f"o{self._random.randrange(ORDERS)}"
        if self._chance(0.1):
            return order, None, now
        return order, f"c{self._random.randrange(CUSTOMERS)}:{self._version()}", now

    def _customer(self, now: int) -> tuple[str, str, int]:
        return f"c{self._random.randrange(CUSTOMERS)}", self._version(), now

    def _time(self, now: int) -> int:
        """Mostly a little out of order, and sometimes so late that windows are closed."""
        lateness = 60_000 if self._chance(0.01) else self._random.choice([0, 0, 500, 4000])
        return max(self._load.start_ms, now - self._random.randint(0, lateness))

    def _user(self) -> str:
        return f"u{int(self._random.triangular(0, USERS, 0))}"

    def _id(self) -> int:
        while (drawn := self._random.getrandbits(40)) in self._ids:
            pass
        self._ids.add(drawn)
        return drawn

    def _version(self) -> str:
        self._versions += 1
        return str(self._versions)

    def _chance(self, of: float) -> bool:
        return self._random.random() < of
