"""What the model and a real broker have in common: one suite, for both.

Whoever runs it has a fixture `cluster`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import pytest

from headrace.core.errors import BrokerError, FencedError
from headrace.core.record import TopicPartition
from headrace.kafka.port import (
    Kafka,
    Lease,
    OffsetGone,
    Outgoing,
    Position,
    RecordRejected,
    SlotProducer,
    TopicSpec,
)

EARLY_MS, LATE_MS = 1_600_000_000_000, 1_600_000_009_000


class Cluster(Protocol):
    def kafka(
        self, application_id: str, *, exactly_once: bool = True, transaction_timeout_s: int = 60
    ) -> Kafka: ...
    def name(self, stem: str) -> str:
        """One that no other test has."""
        ...

    def grow(self, topic: str, partitions: int) -> None: ...
    def delete_topic(self, topic: str) -> None: ...
    def delete_group(self, group: str) -> None: ...
    def wait(self, seconds: float) -> None: ...


class Setting:
    """An application with two topics of two partitions."""

    def __init__(self, cluster: Cluster, *, exactly_once: bool = True) -> None:
        self.application = cluster.name("app")
        self.kafka = cluster.kafka(self.application, exactly_once=exactly_once)
        self.topic, self.other = cluster.name("topic"), cluster.name("other")
        self.kafka.admin.create([TopicSpec(self.topic, 2), TopicSpec(self.other, 2)])
        self.part = TopicPartition(self.topic, 0)

    def row(self, value: str, partition: int | None = 0, key: str = "k") -> Outgoing:
        return (self.topic, partition, key.encode(), value.encode(), EARLY_MS, ())

    def commit(self, producer: SlotProducer, at: int | None = None) -> None:
        positions = {} if at is None else {self.part: Position(at)}
        producer.commit(self.kafka.group.group_metadata(), positions)

    def position(self, kafka: Kafka | None = None) -> Position | None:
        return (kafka or self.kafka).group.committed([self.part]).get(self.part)

    def read(self, kafka: Kafka | None = None, offset: int = 0) -> list[str]:
        found = (kafka or self.kafka).reader.fetch(self.part, offset, 100, 1.0)
        return [record.value.decode() for record in found]

    def restored(self, start: int = 0) -> list[str]:
        changelogs = self.kafka.changelogs
        end = changelogs.ends([self.part])[self.part]
        return [
            (value or b"").decode()
            for records, _ in changelogs.read(self.part, start, end)
            for _, value, _, _ in records
        ]


@contextmanager
def opened(kafka: Kafka, slot: int = 0) -> Iterator[SlotProducer]:
    producer = kafka.producer(slot)
    producer.open()
    try:
        yield producer
    finally:
        producer.close()


class KafkaContract:
    """Inherit from it, and have a fixture `cluster`."""

    # Topics

    def test_topics_are_created_once(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        assert s.kafka.admin.create([TopicSpec(s.topic, 5)]) == {s.topic}
        assert s.kafka.admin.list_topics()[s.topic] == 2
        missing = cluster.name("missing")
        found = s.kafka.admin.describe([s.topic, missing])
        assert found.keys() == {s.topic}
        assert found[s.topic].partitions == 2

    def test_a_topic_of_the_same_name_has_another_id(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        before = s.kafka.admin.describe([s.topic])[s.topic].topic_id
        cluster.delete_topic(s.topic)
        assert s.kafka.admin.describe([s.topic]) == {}
        s.kafka.admin.create([TopicSpec(s.topic, 2)])
        assert s.kafka.admin.describe([s.topic])[s.topic].topic_id != before

    def test_a_topic_grows(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        before = s.kafka.admin.describe([s.topic])[s.topic].topic_id
        cluster.grow(s.topic, 3)
        found = s.kafka.admin.describe([s.topic])[s.topic]
        assert (found.partitions, found.topic_id) == (3, before)

    def test_configs_are_those_given_and_the_defaults(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        name = cluster.name("compacted")
        s.kafka.admin.create([TopicSpec(name, 1, -1, {"cleanup.policy": "compact"})])
        found = s.kafka.admin.configs([name, s.topic])
        assert found[name]["cleanup.policy"] == "compact"
        assert found[s.topic]["cleanup.policy"] == "delete"

    def test_deleted_records_are_gone(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            producer.send([s.row("a"), s.row("b"), s.row("c")])
            s.commit(producer, 1)
        s.restored()  # which waits for the markers
        s.kafka.admin.delete_records({s.part: 2, TopicPartition(cluster.name("none"), 0): 1})
        assert s.kafka.group.first_offsets([s.part]) == {s.part: 2}
        assert s.restored() == ["c"]
        with pytest.raises(OffsetGone):
            s.restored(start=1)

    def test_what_was_never_written_cannot_be_read(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            producer.send([s.row("a")])
            s.commit(producer, 1)
        with pytest.raises(OffsetGone):
            list(s.kafka.changelogs.read(s.part, 7, 9))

    # Transactions

    def test_records_and_positions_are_committed_together(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            producer.send([s.row("a"), s.row("b")])
            producer.commit(
                s.kafka.group.group_metadata(), {s.part: Position(7, 42, {"sequence": 3})}
            )
        assert s.position() == Position(7, 42, {"sequence": 3})
        found = s.kafka.changelogs.records(s.part, 0, s.kafka.changelogs.ends([s.part])[s.part])
        assert [(each.offset, each.value) for records, _ in found for each in records] == [
            (0, b"a"),
            (1, b"b"),
        ]
        assert s.read() == ["a", "b"]

    def test_a_marker_takes_up_an_offset(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            producer.send([s.row("a")])
            s.commit(producer, 1)
            producer.send([s.row("b")])
            s.commit(producer, 2)
        assert s.restored() == ["a", "b"]
        assert s.kafka.changelogs.ends([s.part]) == {s.part: 4}
        assert s.kafka.group.end_offsets([s.part]) == {s.part: 4}

    def test_what_is_aborted_is_not_read(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            producer.send([s.row("a")])
            s.commit(producer, 1)
            producer.send([s.row("b")])
            producer.abort()
            producer.send([s.row("c")])
            s.commit(producer, 2)
        assert s.position() == Position(2)
        assert s.restored() == ["a", "c"]
        assert s.read() == ["a", "c"]

    def test_an_open_transaction_holds_back_what_comes_after(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka, 0) as first, opened(s.kafka, 1) as second:
            second.send([s.row("before")])
            s.commit(second, 1)
            assert s.restored() == ["before"]
            first.send([s.row("open")])
            self._arrive(s, cluster, 3)
            second.send([s.row("after")])
            s.commit(second, 2)
            assert s.position() == Position(2)
            assert s.kafka.group.end_offsets([s.part]) == {s.part: 2}
            assert s.read() == ["before"]
            assert s.kafka.changelogs.ends([s.part])[s.part] >= 4
            s.commit(first)
        assert s.restored() == ["before", "open", "after"]

    def test_a_new_producer_fences_the_one_before(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as zombie:
            zombie.send([s.row("a")])
            s.commit(zombie, 1)
            zombie.send([s.row("lost")])
            with opened(s.kafka) as producer:
                producer.send([s.row("b")])
                s.commit(producer, 2)
                with pytest.raises(FencedError):
                    s.commit(zombie, 9)
                assert not zombie.usable
        assert s.position() == Position(2)
        assert s.restored() == ["a", "b"]

    def test_a_fenced_producer_with_nothing_sent_cannot_commit(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as zombie, opened(s.kafka):
            with pytest.raises(FencedError):
                s.commit(zombie, 9)
            assert s.position() is None

    def test_the_coordinator_gives_up_a_transaction(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        hasty = cluster.kafka(s.application, transaction_timeout_s=1)
        with opened(hasty) as producer:
            producer.send([s.row("a")])
            self._arrive(s, cluster, 1)
            cluster.wait(12)
            with pytest.raises(FencedError):
                s.commit(producer, 1)
        assert s.position() is None
        assert s.restored() == []

    def test_two_slots_do_not_fence_each_other(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka, 0) as one, opened(s.kafka, 1) as other:
            one.send([s.row("a")])
            s.commit(one, 1)
            other.send([s.row("b")])
            s.commit(other, 2)
        assert s.restored() == ["a", "b"]

    def test_a_commit_of_nothing_is_nothing(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            producer.commit(s.kafka.group.group_metadata(), {})
            producer.abort()
        assert s.kafka.changelogs.ends([s.part]) == {s.part: 0}

    def test_a_closed_producer_commits_nothing(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            producer.send([s.row("a")])
        assert not producer.usable
        with opened(s.kafka):
            assert s.position() is None
            assert s.restored() == []

    # Records

    def test_a_record_that_is_too_large_is_named(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            with pytest.raises(RecordRejected) as caught:
                producer.send([s.row("a"), s.row("x" * 2_000_000), s.row("b")])
            assert caught.value.index == 1
            producer.send([s.row("b")])
            s.commit(producer, 1)
        assert s.restored() == ["a", "b"]

    def test_a_record_without_partition_goes_where_its_key_belongs(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            producer.send([s.row(str(n), None, f"key-{n}") for n in range(8)])
            s.commit(producer, 1)
        s.restored()
        found = {}
        for number in range(2):
            part = TopicPartition(s.topic, number)
            for record in s.kafka.reader.fetch(part, 0, 100, 1.0):
                found[record.key.decode()] = number
        assert found == {f"key-{n}": int(at) for n, at in enumerate("10011001")}

    def test_records_keep_their_time_and_headers(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        headers = [("h", b"1"), ("h", None)]
        with opened(s.kafka) as producer:
            producer.send(
                [(s.topic, 0, None, None, LATE_MS, headers), (s.topic, 0, b"", b"", 0, ())]
            )
            s.commit(producer, 1)
        s.restored()
        first, second = s.kafka.reader.fetch(s.part, 0, 100, 1.0)
        assert (first.key, first.value, first.timestamp) == (None, None, LATE_MS)
        assert list(first.headers) == headers
        assert (second.key, second.value, second.timestamp) == (b"", b"", 1)

    def test_records_are_found_by_their_time(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            producer.send([s.row("a"), (s.topic, 0, b"k", b"b", LATE_MS, ())])
            s.commit(producer, 1)
        s.restored()
        at = s.kafka.group.offsets_at
        assert at([s.part], EARLY_MS) == {s.part: 0}
        assert at([s.part], EARLY_MS + 1) == {s.part: 1}
        assert at([s.part], LATE_MS + 1) == {s.part: 2}  # the marker
        assert at([s.part], 4_000_000_000_000) == {s.part: 3}

    def test_a_partition_is_read_piece_by_piece(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        with opened(s.kafka) as producer:
            producer.send([s.row(str(n)) for n in range(5)])
            s.commit(producer, 1)
        s.restored()
        fetch = s.kafka.reader.fetch
        assert [record.offset for record in fetch(s.part, 0, 2, 1.0)] == [0, 1]
        assert [record.offset for record in fetch(s.part, 2, 9, 1.0)] == [2, 3, 4]
        assert fetch(s.part, 6, 9, 0.2) == []

    # Groups

    def test_positions_are_committed_without_a_transaction(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        s.kafka.group.commit({s.part: Position(3, 5, {"a": 1})})
        assert s.position() == Position(3, 5, {"a": 1})
        s.kafka.group.commit({s.part: Position(1)})
        assert s.position() == Position(1)

    def test_groups_do_not_know_each_other(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        other = cluster.kafka(f"{s.application}-other")
        other.group.commit({s.part: Position(9)})
        assert s.position() is None
        assert s.position(other) == Position(9)
        other.close()

    def test_a_deleted_group_has_no_positions(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        s.kafka.group.commit({s.part: Position(3)})
        cluster.delete_group(s.application)
        assert s.position() is None

    def test_metadata_has_a_limit(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        long = {f"operator-{n:04}": n for n in range(200)}
        with pytest.raises(BrokerError):
            s.kafka.group.commit({s.part: Position(3, 0, long)})
        assert s.position() is None

    def test_nobody_is_in_a_group_that_is_only_asked(self, cluster: Cluster) -> None:
        s = Setting(cluster)
        s.kafka.group.commit({s.part: Position(3)})
        assert s.kafka.admin.group_members(s.application) == []
        s.kafka.admin.check_group_is_free(s.application)

    # Leases

    def test_of_several_instances_one_has_the_lease_and_another_after_it(
        self, cluster: Cluster
    ) -> None:
        s = Setting(cluster)
        group = f"{s.application}-headrace"
        s.kafka.admin.create([TopicSpec(group, 1)])
        other = cluster.kafka(s.application)
        first = s.kafka.lease("a/1")
        self._has(cluster, first)
        second = other.lease("b:8080/2")
        cluster.wait(1.0)
        assert first.is_held()
        assert not second.is_held()
        assert sorted(s.kafka.admin.group_members(group)) == ["a/1", "b:8080/2"]
        first.close()
        self._has(cluster, second)
        assert s.kafka.admin.group_members(group) == ["b:8080/2"]
        second.close()
        other.close()

    def _has(self, cluster: Cluster, lease: Lease) -> None:
        for _ in range(150):
            if lease.is_held():
                return
            cluster.wait(0.2)
        raise AssertionError("nobody has the lease")

    # at_least_once

    def test_without_transactions_nothing_is_held_back(self, cluster: Cluster) -> None:
        s = Setting(cluster, exactly_once=False)
        with opened(s.kafka, 0) as one, opened(s.kafka, 0) as other:
            one.send([s.row("a")])
            other.send([s.row("b")])
            s.commit(other, 1)
            s.commit(one, 2)
        assert s.position() == Position(2)
        assert sorted(s.restored()) == ["a", "b"]
        assert s.kafka.changelogs.ends([s.part]) == {s.part: 2}

    def test_a_named_producer_has_transactions_whatever_the_guarantee(
        self, cluster: Cluster
    ) -> None:
        s = Setting(cluster, exactly_once=False)
        one, other = s.kafka.producer_named("claim"), s.kafka.producer_named("claim")
        one.open()
        one.send([s.row("a")])
        one.commit(s.kafka.group.group_metadata(), {s.part: Position(1)})
        one.send([s.row("b")])
        other.open()
        with pytest.raises(FencedError):
            one.commit(s.kafka.group.group_metadata(), {s.part: Position(2)})
        assert s.position() == Position(1)
        assert s.restored() == ["a"]
        for producer in (one, other):
            producer.close()

    def test_without_transactions_what_is_open_elsewhere_is_read(self, cluster: Cluster) -> None:
        s = Setting(cluster, exactly_once=False)
        upstream = cluster.kafka(cluster.name("upstream"))
        with opened(upstream) as producer:
            producer.send([s.row("open")])
            self._arrive(s, cluster, 1)
            assert s.read() == ["open"]
            assert s.kafka.group.end_offsets([s.part]) == {s.part: 0}

    def _arrive(self, s: Setting, cluster: Cluster, end: int) -> None:
        """What was sent may still be on its way."""
        for _ in range(200):
            if s.kafka.changelogs.ends([s.part])[s.part] >= end:
                return
            cluster.wait(0.05)
        raise AssertionError("nothing arrived")
