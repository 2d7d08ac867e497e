"""Topics and groups of a real Kafka, and the internal topics of an application."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from headrace import StreamsBuilder, Topology, serdes
from headrace.core.config import StreamsConfig
from headrace.core.errors import BrokerError, StreamsError
from headrace.core.record import TopicPartition
from headrace.embedded import EmbeddedKafka
from headrace.kafka.admin import Admin
from headrace.kafka.internal_topics import InternalTopics
from headrace.kafka.port import Position, TopicSpec
from headrace.kafka.settings import ClientSettings
from tests.kafka.cluster import records, settings

TEXT = serdes.string()


@pytest.fixture
def name(topic_name: Callable[[], str]) -> str:
    return topic_name()


@pytest.fixture
def admin(embedded_kafka: EmbeddedKafka, name: str) -> Admin:
    return Admin(settings(embedded_kafka, name))


def test_topics_come_and_go(admin: Admin, name: str) -> None:
    assert admin.describe([name]) == {}
    assert admin.configs([name]) == {}
    assert admin.create([TopicSpec(name, 3, config={"cleanup.policy": "compact"})]) == set()
    assert admin.create([TopicSpec(name, 5)]) == {name}
    found = admin.describe([name, f"{name}-missing"])
    assert found.keys() == {name}
    assert (found[name].partitions, found[name].replication_factor) == (3, 1)
    assert admin.list_topics()[name] == 3
    assert admin.configs([name])[name]["cleanup.policy"] == "compact"
    admin.delete([name, f"{name}-missing"])
    assert admin.describe([name]) == {}
    assert admin.create([TopicSpec(name, 1)]) == set()
    assert admin.describe([name])[name].topic_id != found[name].topic_id


def test_nothing_asked_is_nothing_done(admin: Admin) -> None:
    assert admin.describe([]) == {}
    assert admin.configs([]) == {}
    assert admin.create([]) == set()
    admin.delete([])
    admin.delete_records({})
    admin.alter_offsets("group", {})


def test_topics_of_kafka_itself_are_not_listed(admin: Admin) -> None:
    assert not any(topic.startswith("__") for topic in admin.list_topics())
    assert admin.cluster_id()


def test_what_the_broker_refuses(admin: Admin, name: str) -> None:
    with pytest.raises(BrokerError, match=f"Could not create {name}: .*replication") as raised:
        admin.create([TopicSpec(name, 1, replication_factor=9)])
    assert not raised.value.retriable
    with pytest.raises(BrokerError, match="INVALID_CONFIG"):
        admin.create([TopicSpec(name, 1, config={"retention.ms": "soon"})])


def test_records_are_purged(embedded_kafka: EmbeddedKafka, admin: Admin, name: str) -> None:
    embedded_kafka.create_topic(name)
    producer = Producer({"bootstrap.servers": embedded_kafka.bootstrap_servers})
    for number in range(5):
        producer.produce(name, b"%d" % number)
    producer.flush()
    admin.delete_records({TopicPartition(name, 0): 3, TopicPartition(f"{name}-missing", 0): 1})
    assert [found.offset for found in records(embedded_kafka, name)] == [3, 4]
    # Once more, and too far: neither is a reason to fail.
    admin.delete_records({TopicPartition(name, 0): 3})
    admin.delete_records({TopicPartition(name, 0): 99})
    assert [found.offset for found in records(embedded_kafka, name)] == [3, 4]


def test_groups(embedded_kafka: EmbeddedKafka, admin: Admin, name: str) -> None:
    embedded_kafka.create_topic(name)
    part = TopicPartition(name, 0)
    assert admin.group_offsets(name) == {}
    assert admin.group_members(name) == []
    admin.delete_group(name)
    admin.alter_offsets(name, {part: Position(7)})
    assert admin.group_offsets(name) == {part: 7}
    admin.delete_group(name)
    assert admin.group_offsets(name) == {}


def test_closing_twice_does_no_harm(admin: Admin) -> None:
    admin.close()
    admin.close()


# Internal topics


def of_source(source: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(source, key=TEXT, value=TEXT).group_by(lambda key, value: value, name="g").count(
        "counts"
    )
    return builder.build()


def internal(
    embedded_kafka: EmbeddedKafka, admin: Admin, name: str, **more: object
) -> InternalTopics:
    given = {key.replace("_", "."): value for key, value in more.items()}
    config = StreamsConfig({"application.id": name, "task.timeout.ms": 30_000, **given})
    return InternalTopics(of_source(f"{name}-in"), config, admin)


def test_internal_topics_are_created_once(
    embedded_kafka: EmbeddedKafka, admin: Admin, name: str
) -> None:
    embedded_kafka.create_topic(f"{name}-in", 3)
    topics = internal(embedded_kafka, admin, name, topic_segment_bytes=1_048_576)
    topics.ensure()
    found = admin.describe(topics.all_names())
    assert {topic: info.partitions for topic, info in found.items()} == {
        f"{name}-in": 3,
        f"{name}-g-repartition": 3,
        f"{name}-counts-changelog": 3,
        f"{name}-headrace": 1,
    }
    configs = admin.configs(found)
    repartition = configs[f"{name}-g-repartition"]
    assert repartition["cleanup.policy"] == "delete"
    assert repartition["retention.ms"] == "-1"
    assert repartition["segment.bytes"] == "1048576"
    assert configs[f"{name}-counts-changelog"]["cleanup.policy"] == "compact"
    internal(embedded_kafka, admin, name).ensure()
    assert admin.describe(topics.all_names()) == found


def test_internal_topics_that_do_not_fit(
    embedded_kafka: EmbeddedKafka, admin: Admin, name: str
) -> None:
    embedded_kafka.create_topic(f"{name}-in", 3)
    embedded_kafka.create_topic(f"{name}-g-repartition", 2)
    embedded_kafka.create_topic(f"{name}-counts-changelog", 3, cleanup_policy="delete")
    with pytest.raises(StreamsError) as raised:
        internal(embedded_kafka, admin, name).ensure()
    assert f"{name}-g-repartition must have 3 partitions, but has 2" in str(raised.value)
    assert f"cleanup.policy of {name}-counts-changelog must be compact" in str(raised.value)


def test_settings_can_be_made_from_a_whole_configuration(
    embedded_kafka: EmbeddedKafka, name: str
) -> None:
    config = StreamsConfig({"application.id": name, **embedded_kafka.client_settings()})
    assert Admin(ClientSettings(config)).cluster_id()
