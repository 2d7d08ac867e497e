"""A model of Kafka: small, deterministic, and held to a real broker by `contract`."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from headrace.core.clock import PacedClock
from headrace.core.record import Header, TopicPartition
from headrace.kafka.port import TopicInfo, TopicSpec

from .groups import Committed, Group, Offsets
from .partition_log import NO_PRODUCER, Entry, PartitionLog
from .refusal import Reason, Refused
from .transactions import Producer, Transactions

MAX_RECORD = 1_000_000
_DEFAULTS = {"cleanup.policy": "delete", "retention.ms": "604800000", "min.compaction.lag.ms": "0"}
_TOMBSTONES_LAST_MS = 86_400_000

Row = tuple["bytes | None", "bytes | None", "int | None", Sequence[Header]]
"""key, value, timestamp (None: the broker's), headers"""


@dataclass
class Topic:
    id: str
    logs: list[PartitionLog]
    config: dict[str, str] = field(default_factory=dict)


class Broker:
    """What all brokers of a cluster know together. Requests are methods; each happens at once, at
    the present time of the clock. Time is all that goes on between them: see `settle`."""

    def __init__(self, clock: PacedClock, marker_delay: Callable[[], float] = lambda: 0.0) -> None:
        self._clock = clock
        self._topics: dict[str, Topic] = {}
        self._groups: dict[str, Group] = {}
        self._transactions = Transactions(self._write_marker, marker_delay)
        self._ids = count(1)
        self._later: list[tuple[float, int, Callable[[], object]]] = []
        self._requests = count()
        self.down_until = 0.0

    # Time

    @property
    def now(self) -> float:
        return self._clock.seconds()

    @property
    def is_down(self) -> bool:
        return self.now < self.down_until

    def later(self, delay_s: float, effect: Callable[[], object]) -> None:
        """Have a request arrive late. Whoever sent it won't hear of its outcome."""
        heapq.heappush(self._later, (self.now + delay_s, next(self._requests), effect))

    def forget_late(self) -> None:
        """Nobody sends anything any more."""
        self._later.clear()

    def settle(self) -> None:
        """Bring everything to the present: late requests, markers, timeouts, sessions."""
        now = self.now
        while self._later and self._later[0][0] <= now:
            due, _, effect = heapq.heappop(self._later)
            self._transactions.settle(due)
            try:
                effect()
            except Refused:
                continue
        self._transactions.settle(now)
        for group in self._groups.values():
            group.settle(now)

    # Topics

    def topics(self) -> dict[str, int]:
        return {name: len(topic.logs) for name, topic in self._topics.items()}

    def describe(self, names: Iterable[str]) -> dict[str, TopicInfo]:
        return {
            name: TopicInfo(name, len(topic.logs), topic.id, 1)
            for name in sorted(set(names))
            if (topic := self._topics.get(name)) is not None
        }

    def configs(self, names: Iterable[str]) -> dict[str, dict[str, str | None]]:
        return {
            name: {**_DEFAULTS, **self._topics[name].config}
            for name in sorted(set(names))
            if name in self._topics
        }

    def create(self, specs: Iterable[TopicSpec]) -> set[str]:
        """Gives those that are there already."""
        there = set()
        for spec in specs:
            if spec.name in self._topics:
                there.add(spec.name)
            else:
                logs = [PartitionLog() for _ in range(spec.partitions)]
                self._topics[spec.name] = Topic(f"id-{next(self._ids)}", logs, dict(spec.config))
        return there

    def grow(self, name: str, partitions: int) -> None:
        logs = self._topics[name].logs
        logs += [PartitionLog() for _ in range(partitions - len(logs))]

    def delete(self, name: str) -> None:
        topic = self._topics.pop(name, None)
        if topic is not None:
            self._transactions.forget(name)
            for group in self._groups.values():
                group.offsets = {
                    part: one for part, one in group.offsets.items() if part.topic != name
                }

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> None:
        for part, offset in offsets.items():
            topic = self._topics.get(part.topic)
            if topic is not None and offset <= topic.logs[part.partition].stable_end:
                topic.logs[part.partition].delete_before(offset)

    def compact(self, name: str) -> None:
        topic = self._topics[name]
        if "compact" in topic.config.get("cleanup.policy", ""):
            last_ms = int(topic.config.get("delete.retention.ms", _TOMBSTONES_LAST_MS))
            for log in topic.logs:
                log.compact(self.now, last_ms / 1000)

    # Logs

    def log(self, part: TopicPartition) -> PartitionLog:
        topic = self._topics.get(part.topic)
        if topic is None or part.partition >= len(topic.logs):
            raise Refused(Reason.UNKNOWN_TOPIC, f"There is no {part}")
        return topic.logs[part.partition]

    def append(
        self, part: TopicPartition, rows: Iterable[Row], producer: Producer | None = None
    ) -> None:
        log = self.log(part)
        number = NO_PRODUCER
        if producer is not None:
            self._transactions.add(producer, part, self.now)
            number = producer.id
        for key, value, timestamp, headers in rows:
            if len(key or b"") + len(value or b"") > MAX_RECORD:
                raise Refused(Reason.TOO_LARGE, f"A record is too large for {part}")
            stamp = self._clock.now_ms() if timestamp is None else timestamp
            log.append(key, value, stamp, headers, producer=number)

    def fetch(
        self, part: TopicPartition, offset: int, limit: int, *, committed: bool
    ) -> tuple[list[Entry], int]:
        log = self.log(part)
        if not log.start <= offset <= log.end:
            raise Refused(
                Reason.OUT_OF_RANGE, f"{part}@{offset} is not in {log.start} to {log.end}"
            )
        return log.read(offset, limit, committed=committed)

    # Transactions

    def init_producer(self, transactional_id: str, timeout_s: float) -> Producer:
        return self._transactions.init(transactional_id, timeout_s, self.now)

    def add_offsets(self, producer: Producer, group: str, offsets: Offsets) -> None:
        self._transactions.add(producer, group, self.now)
        self.group(group).commit_later(producer.id, offsets, self.now)

    def end_transaction(self, producer: Producer, *, committed: bool) -> None:
        self._transactions.end(producer, committed=committed, now=self.now)
        self._transactions.settle(self.now)

    # Groups

    def group(self, name: str) -> Group:
        found = self._groups.get(name)
        if found is None:
            found = self._groups[name] = Group()
        return found

    def commit(self, group: str, offsets: Offsets) -> None:
        for part in offsets:
            self.log(part)
        self.group(group).commit(offsets, self.now)

    def committed(
        self, group: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Committed]:
        return self.group(group).stable(partitions)

    def delete_group(self, name: str) -> None:
        group = self._groups.get(name)
        if group is not None and group.members:
            raise Refused(Reason.UNKNOWN_MEMBER, f"Group {name} is not empty")
        self._groups.pop(name, None)

    def expire_offsets(self, older_than_s: float) -> None:
        for group in self._groups.values():
            group.expire(self.now - older_than_s)

    def _write_marker(self, target: TopicPartition | str, producer: int, committed: bool) -> None:
        if isinstance(target, str):
            # A group that was deleted meanwhile comes back with what was committed.
            self.group(target).mark(producer, committed=committed)
        elif target.topic in self._topics:
            log = self._topics[target.topic].logs[target.partition]
            log.mark(producer, committed=committed, timestamp=self._clock.now_ms())
