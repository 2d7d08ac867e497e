"""The port to Kafka, with the model behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar

from headrace.core.errors import BrokerError, FencedError, MissingTopicError, StreamsError
from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.kafka.metadata import decode, encode
from headrace.kafka.port import (
    Logged,
    OffsetGone,
    Outgoing,
    Position,
    RecordRejected,
    SlotProducer,
    TopicInfo,
    TopicSpec,
)
from headrace.serde.murmur2 import partition_for

from .broker import MAX_RECORD, Broker, Row
from .groups import Committed
from .network import Network
from .partition_log import Entry
from .refusal import Reason, Refused
from .transactions import Producer

T = TypeVar("T")

_BATCH = 1000
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 1.0
_SESSION_S = 10.0
_AGAIN = (Reason.CONCURRENT, Reason.UNSTABLE)


class ModelKafka:
    """What a process has of the model, as `headrace.kafka.clients.Clients` has it of Kafka."""

    def __init__(
        self,
        broker: Broker,
        network: Network,
        application_id: str,
        *,
        exactly_once: bool = True,
        timeout_s: float = 60.0,
        transaction_timeout_s: float = 60.0,
    ) -> None:
        self._application_id = application_id
        self._exactly_once = exactly_once
        self._transaction_timeout_s = transaction_timeout_s
        self._requests = _Requests(broker, network, timeout_s)
        self.admin = ModelTopics(self._requests)
        self.group = ModelPositions(self._requests, application_id)
        self.changelogs = ModelChangelogs(self._requests)
        self.reader = ModelRecords(self._requests, committed=exactly_once)

    def producer(self, slot: int) -> SlotProducer:
        if self._exactly_once:
            return self.producer_named(str(slot))
        return ModelPlainProducer(self._requests, self.group)

    def producer_named(self, name: str) -> SlotProducer:
        id_ = f"{self._application_id}-{name}"
        return ModelTransactionalProducer(self._requests, id_, self._transaction_timeout_s)

    def lease(self, instance: str) -> ModelLease:
        return ModelLease(self._requests, f"{self._application_id}-headrace", instance)

    def wait_for_kafka(self, error: StreamsError) -> BrokerError | None:
        timeout_s = self._requests.timeout_s
        if self.group.wait_until_reachable(timeout_s):
            return None
        return BrokerError(f"Kafka could not be reached for {timeout_s:.0f} s, after this: {error}")

    def close(self) -> None: ...


class _Requests:
    """Makes requests, again and again while that may help, and turns refusals into errors."""

    def __init__(self, broker: Broker, network: Network, timeout_s: float) -> None:
        self.broker = broker
        self.network = network
        self.timeout_s = timeout_s
        self.lease: ModelLease | None = None

    def make(self, what: str, request: Callable[[], T]) -> T:
        clock = self.network.clock
        if self.lease is not None:
            self.lease.beat()
        deadline = clock.seconds() + self.timeout_s
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return self.network.call(what, request)
            except Refused as refused:
                if refused.reason not in _AGAIN:
                    raise _error(refused) from None
                if clock.seconds() > deadline:
                    raise BrokerError(f"Could not {what}: {refused}.", retriable=True) from None
            clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)


def _error(refused: Refused) -> StreamsError:
    match refused.reason:
        case Reason.FENCED:
            return FencedError(f"{refused}.")
        case Reason.UNKNOWN_TOPIC:
            return MissingTopicError(f"{refused}.")
        case Reason.OUT_OF_RANGE:
            return OffsetGone(f"{refused}.")
        case _:
            return BrokerError(f"{refused}.")


class ModelLease:
    """Whoever came first has it. A client's heart beats in the background; here it does whenever a
    process asks for anything, which drivers do every few seconds."""

    def __init__(self, requests: _Requests, group: str, instance: str) -> None:
        self._requests = requests
        self._group = group
        self._instance = instance
        requests.lease = self
        self.beat()

    def beat(self) -> None:
        broker = self._requests.broker
        if broker.is_down:
            return
        broker.settle()
        group = broker.group(self._group)
        try:
            group.heartbeat(self._instance, broker.now)
        except Refused:
            group.join(self._instance, _SESSION_S, broker.now)

    def is_held(self) -> bool:
        self.beat()
        return self._requests.broker.group(self._group).leader == self._instance

    def close(self) -> None:
        self._requests.lease = None
        self._requests.broker.group(self._group).leave(self._instance)


class ModelTopics:
    def __init__(self, requests: _Requests) -> None:
        self._make = requests.make
        self._broker = requests.broker

    def list_topics(self) -> dict[str, int]:
        return self._make("list topics", self._broker.topics)

    def describe(self, topics: Iterable[str]) -> dict[str, TopicInfo]:
        names = list(topics)
        return self._make("describe topics", lambda: self._broker.describe(names))

    def check_rights(self, topics: Mapping[str, Collection[str]]) -> None:
        """Everybody may do everything."""

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str | None]]:
        names = list(topics)
        return self._make("read configs", lambda: self._broker.configs(names))

    def create(self, topics: Iterable[TopicSpec]) -> set[str]:
        specs = list(topics)
        return self._make("create topics", lambda: self._broker.create(specs)) if specs else set()

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._make("delete records", lambda: self._broker.delete_records(offsets))

    def group_members(self, group: str) -> list[str]:
        return self._make("describe group", lambda: list(self._broker.group(group).members))

    def check_group_is_free(self, group: str) -> None:
        if members := self.group_members(group):
            raise BrokerError(f"The consumer group {group} is in use by {', '.join(members)}.")

    def close(self) -> None: ...


class ModelPositions:
    def __init__(self, requests: _Requests, group: str) -> None:
        self._requests = requests
        self._make = requests.make
        self._broker = requests.broker
        self._group = group

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position]:
        asked = list(partitions)
        if not asked:
            return {}
        found = self._make("read positions", lambda: self._broker.committed(self._group, asked))
        return {part: _position(one) for part, one in found.items()}

    def commit(self, positions: Mapping[TopicPartition, Position]) -> None:
        if positions:
            offsets = _encoded(positions)
            self._make("commit positions", lambda: self._broker.commit(self._group, offsets))

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._bounds(partitions, lambda part: self._broker.log(part).stable_end)

    def first_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._bounds(partitions, lambda part: self._broker.log(part).start)

    def offsets_at(
        self, partitions: Iterable[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, int]:
        def offset_of(part: TopicPartition) -> int:
            log = self._broker.log(part)
            found = log.offset_at(max(0, timestamp_ms), committed=True)
            return log.stable_end if found is None else found

        return self._bounds(partitions, offset_of)

    def wait_until_reachable(self, timeout_s: float) -> bool:
        clock = self._requests.network.clock
        deadline = clock.seconds() + timeout_s
        while self._broker.is_down and clock.seconds() < deadline:
            clock.sleep(1.0)
        return not self._broker.is_down

    def group_metadata(self) -> Any:
        return self._group

    def close(self) -> None: ...

    def _bounds(
        self, partitions: Iterable[TopicPartition], bound: Callable[[TopicPartition], int]
    ) -> dict[TopicPartition, int]:
        asked = list(partitions)
        if not asked:
            return {}
        return self._make("read offsets", lambda: {part: bound(part) for part in asked})


class ModelChangelogs:
    def __init__(self, requests: _Requests) -> None:
        self._requests = requests
        self._broker = requests.broker

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        asked = list(partitions)
        if not asked:
            return {}
        return self._requests.make(
            "read ends", lambda: {part: self._broker.log(part).end for part in asked}
        )

    def read(
        self, partition: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[list[Logged], int]]:
        for records, after in self.records(partition, start, end):
            yield [(each.key, each.value, each.timestamp, each.headers) for each in records], after

    def records(
        self, partition: TopicPartition, start: int, end: int
    ) -> Iterator[tuple[list[ConsumerRecord], int]]:
        requests, clock = self._requests, self._requests.network.clock
        if start == 0:
            start = requests.make("read start", lambda: self._broker.log(partition).start)
        position, pause = start, _FIRST_PAUSE_S
        deadline = clock.seconds() + requests.timeout_s
        while position < end:
            at = position
            entries, position = requests.make(
                "restore", partial(self._broker.fetch, partition, at, _BATCH, committed=True)
            )
            records = [_record(partition, entry) for entry in entries if entry.offset < end]
            if records:
                deadline, pause = clock.seconds() + requests.timeout_s, _FIRST_PAUSE_S
                yield records, min(position, end)
            elif position < end:
                # A transaction is under way.
                if clock.seconds() > deadline:
                    raise BrokerError(
                        f"Could not read {partition} from offset {position} on.", retriable=True
                    )
                clock.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)

    def close(self) -> None: ...


class ModelRecords:
    def __init__(self, requests: _Requests, *, committed: bool) -> None:
        self._requests = requests
        self._committed = committed

    def fetch(
        self,
        partition: TopicPartition,
        offset: int,
        max_records: int,
        timeout_s: float,
        max_bytes: int = 4 << 20,
    ) -> list[ConsumerRecord]:
        entries, _ = self._requests.make(
            "read ahead",
            lambda: self._requests.broker.fetch(
                partition, offset, max_records, committed=self._committed
            ),
        )
        if not entries:
            self._requests.network.clock.sleep(timeout_s)
        found, size = [], 0
        for entry in entries:
            found.append(_record(partition, entry))
            size += len(entry.key or b"") + len(entry.value or b"")
            if size >= max_bytes:
                break
        return found

    def close(self) -> None: ...


def _record(partition: TopicPartition, entry: Entry) -> ConsumerRecord:
    return ConsumerRecord(
        *partition, entry.offset, entry.timestamp, entry.key, entry.value, entry.headers
    )


class _Sending:
    """Records wait in the producer, partition by partition, until they are sent."""

    def __init__(self, requests: _Requests) -> None:
        self.usable = True
        self._requests = requests
        self._broker = requests.broker
        self._waiting: dict[TopicPartition, list[Row]] = {}
        self._producer: Producer | None = None

    def close(self) -> None:
        self.usable = False
        self._waiting.clear()

    def _add(self, outbox: Sequence[Outgoing]) -> None:
        for index, (topic, partition, key, value, timestamp, headers) in enumerate(outbox):
            size = len(key or b"") + len(value or b"")
            if size > MAX_RECORD:
                raise RecordRejected(
                    f"A record of {size} bytes is too large for topic {topic}.",
                    topic=topic,
                    key=key,
                    size=size,
                    index=index,
                )
            if partition is None:
                partition = self._partition_for(topic, key)
            # As librdkafka does it: 0 would mean "now".
            stamp = timestamp if timestamp is None else timestamp or 1
            row = key, value, stamp, tuple(headers)
            self._waiting.setdefault(TopicPartition(topic, partition), []).append(row)

    def _partition_for(self, topic: str, key: bytes | None) -> int:
        partitions = self._broker.topics().get(topic)
        if partitions is None:
            raise MissingTopicError(f"There is no topic {topic}.")
        return 0 if key is None else partition_for(key, partitions)

    def _flush(self, most: int) -> None:
        for part in list(self._waiting)[:most]:
            rows = self._waiting.pop(part)
            self._requests.make(
                f"send to {part}", partial(self._broker.append, part, rows, self._producer)
            )


class ModelTransactionalProducer(_Sending):
    def __init__(
        self, requests: _Requests, transactional_id: str, transaction_timeout_s: float
    ) -> None:
        super().__init__(requests)
        self.transactional_id = transactional_id
        self._transaction_timeout_s = transaction_timeout_s
        self._is_open = False

    def open(self) -> None:
        try:
            self._producer = self._requests.make(
                "fence",
                lambda: self._broker.init_producer(
                    self.transactional_id, self._transaction_timeout_s
                ),
            )
        except StreamsError as error:
            self._give_up(error)

    def send(self, outbox: Sequence[Outgoing]) -> None:
        if not outbox:
            return
        self._begin()
        try:
            self._add(outbox)
            self._flush(self._requests.network.share(len(self._waiting)))
        except RecordRejected:
            raise
        except StreamsError as error:
            self._give_up(error)

    def commit(self, group_metadata: Any, positions: Mapping[TopicPartition, Position]) -> None:
        if not positions and not self._is_open:
            return
        self._begin()
        producer = self._producer
        assert producer is not None
        try:
            self._flush(len(self._waiting))
            if positions:
                offsets = _encoded(positions)
                self._requests.make(
                    "send positions",
                    lambda: self._broker.add_offsets(producer, group_metadata, offsets),
                )
            self._requests.make(
                "commit", lambda: self._broker.end_transaction(producer, committed=True)
            )
        except StreamsError as error:
            self._give_up(error)
        self._is_open = False

    def abort(self) -> None:
        if not self._is_open or not self.usable:
            return
        self._is_open = False
        self._waiting.clear()
        producer = self._producer
        assert producer is not None
        try:
            self._requests.make(
                "abort", lambda: self._broker.end_transaction(producer, committed=False)
            )
        except StreamsError:
            self.usable = False

    def _begin(self) -> None:
        if not self.usable:
            raise BrokerError(
                f"The producer {self.transactional_id} can't be used any more.", retriable=True
            )
        self._is_open = True

    def _give_up(self, failure: StreamsError) -> NoReturn:
        self.usable = False
        raise failure


class ModelPlainProducer(_Sending):
    def __init__(self, requests: _Requests, group: ModelPositions) -> None:
        super().__init__(requests)
        self._group = group

    def open(self) -> None:
        self._requests.make("connect", lambda: None)

    def send(self, outbox: Sequence[Outgoing]) -> None:
        self._add(outbox)
        self._flush(self._requests.network.share(len(self._waiting)))

    def commit(self, group_metadata: Any, positions: Mapping[TopicPartition, Position]) -> None:
        self._flush(len(self._waiting))
        self._group.commit(positions)

    def abort(self) -> None:
        self._waiting.clear()


def _position(committed: Committed) -> Position:
    return Position(committed.offset, *decode(committed.metadata))


def _encoded(positions: Mapping[TopicPartition, Position]) -> dict[TopicPartition, tuple[int, str]]:
    return {
        part: (offset, encode(partition_time, metadata))
        for part, (offset, partition_time, metadata) in positions.items()
    }
