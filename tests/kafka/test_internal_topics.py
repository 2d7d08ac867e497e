"""Which internal topics there must be, and what is wrong with those that are there."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from headrace import (
    BufferConfig,
    JoinWindows,
    KStream,
    KTable,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    TopologyError,
    serdes,
    stores,
)
from headrace.core.config import StreamsConfig
from headrace.core.errors import BrokerError, MissingTopicError, StreamsError
from headrace.kafka.admin import Admin
from headrace.kafka.internal_topics import InternalTopics, is_internal_name
from headrace.kafka.port import TopicInfo, TopicSpec
from headrace.topology.nodes import SourceNode

RECORDED = json.loads((Path(__file__).parent / "recorded/internal_topics.json").read_text())
"""The settings of internal topics of some topologies, from Kafka Streams 4.3.0."""

TEXT = serdes.string()
MINUTE = timedelta(minutes=1)
FIVE = timedelta(minutes=5)


class FakeAdmin:
    """A cluster that is a dict. Topics in `deleting` seem to exist, and aren't to be found."""

    def __init__(self, topics: Mapping[str, int], deleting: Iterable[str] = ()) -> None:
        self.topics = dict(topics)
        self.settings: dict[str, dict[str, str | None]] = {}
        self.created: list[TopicSpec] = []
        self.deleting = set(deleting)

    def list_topics(self) -> dict[str, int]:
        return dict(self.topics)

    def describe(self, topics: Iterable[str]) -> dict[str, TopicInfo]:
        return {
            name: TopicInfo(name, self.topics[name], f"id-{name}", 1)
            for name in topics
            if name in self.topics
        }

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str | None]]:
        return {name: self.settings[name] for name in topics}

    def create(self, topics: Iterable[TopicSpec]) -> set[str]:
        for topic in topics:
            self.created.append(topic)
            if topic.name not in self.deleting:
                self.topics[topic.name] = topic.partitions
                self.settings[topic.name] = dict(topic.config)
        return self.deleting


def config(**settings: Any) -> StreamsConfig:
    return StreamsConfig(
        {"application.id": "app", "task.timeout.ms": 0}
        | {key.replace("_", "."): value for key, value in settings.items()}
    )


def planned(topology: Topology, admin: FakeAdmin, settings: StreamsConfig) -> InternalTopics:
    return InternalTopics(topology, settings, cast(Admin, admin))


def stream(builder: StreamsBuilder, topic: str = "in") -> KStream[str, str]:
    return builder.stream(topic, key=TEXT, value=TEXT)


def table(builder: StreamsBuilder, topic: str, name: Any) -> KTable[str, str]:
    return builder.table(topic, key=TEXT, value=TEXT, materialized=name)


def versioned() -> Materialized[str, str]:
    return Materialized(supplier=stores.versioned("versions", timedelta(hours=1)))


def pair(one: Any, other: Any) -> str:
    return f"{one}{other}"


Build = Callable[[StreamsBuilder], object]

TOPOLOGIES: dict[str, Build] = {
    "count": lambda b: stream(b).group_by_key().count("counts"),
    "window": lambda b: (
        stream(b)
        .group_by(lambda key, value: value)
        .windowed_by(TimeWindows.of_size(FIVE, grace=MINUTE))
        .count("windows")
    ),
    "window retention": lambda b: (
        stream(b)
        .group_by_key()
        .windowed_by(TimeWindows.of_size(FIVE))
        .count(Materialized("windows", retention=timedelta(hours=2)))
    ),
    "session": lambda b: (
        stream(b)
        .group_by_key()
        .windowed_by(SessionWindows.of_inactivity_gap(FIVE, grace=MINUTE))
        .count("sessions")
    ),
    "sliding": lambda b: (
        stream(b)
        .group_by_key()
        .windowed_by(SlidingWindows.of_time_difference(FIVE, grace=MINUTE))
        .count("sliding")
    ),
    "outer join": lambda b: stream(b, "l").outer_join(
        stream(b, "r"), pair, JoinWindows.of_time_difference(FIVE, grace=MINUTE), store_name="join"
    ),
    "versioned": lambda b: table(b, "in", versioned()),
    "table": lambda b: table(b, "in", "t"),
    "table optimized": lambda b: table(b, "in", "t"),
    "fk": lambda b: table(b, "l", "left").join(
        table(b, "r", "right"),
        pair,
        foreign_key=lambda value: value,
        name="fk",
        materialized="joined",
    ),
    "suppress": lambda b: (
        stream(b)
        .group_by_key()
        .windowed_by(TimeWindows.of_size(FIVE, grace=MINUTE))
        .count("windows")
        .suppress(Suppressed.until_window_closes(BufferConfig.unbounded(), name="sup"))
    ),
    "grace join": lambda b: stream(b).join(
        table(b, "t", versioned()), pair, name="j", grace=MINUTE
    ),
    "log config": lambda b: (
        stream(b)
        .repartition(name="again", partitions=7)
        .group_by_key()
        .count(
            Materialized(
                "counts",
                log_config={
                    "retention.ms": "99",
                    "cleanup.policy": "compact,delete",
                    "min.insync.replicas": "1",
                },
            )
        )
    ),
    "window log config": lambda b: (
        stream(b)
        .group_by_key()
        .windowed_by(TimeWindows.of_size(FIVE, grace=MINUTE))
        .count(Materialized("windows", log_config={"retention.ms": "99"}))
    ),
    "no logging": lambda b: stream(b).group_by_key().count(Materialized("counts", logging=False)),
    "global": lambda b: stream(b).join(
        b.global_table("g", key=TEXT, value=TEXT, materialized="global"),
        pair,
        key_selector=lambda key, value: value,
    ),
}


@pytest.mark.parametrize("case", TOPOLOGIES)
@pytest.mark.parametrize("given", ["plain", "with topic settings"])
def test_settings_are_those_of_kafka_streams(case: str, given: str) -> None:
    builder = StreamsBuilder()
    TOPOLOGIES[case](builder)
    optimization = "all" if case.endswith("optimized") else "none"
    topology = builder.build({"topology.optimization": optimization})
    ours = {"topic.retention.ms": 5, "topic.min.insync.replicas": 2, "topic.segment.bytes": 7}
    settings = StreamsConfig({"application.id": "app"} | ({} if given == "plain" else ours))
    sources = dict.fromkeys(["in", "l", "r", "t", "g"], 3)
    topics = planned(topology, FakeAdmin(sources), settings)
    assert {topic.name: topic.config for topic in topics.planned} == RECORDED[given][case]
    again = {"app-again-repartition": 7, "app-counts-changelog": 7}
    assert {topic.name: topic.partitions for topic in topics.planned} == {
        name: again.get(name, 3) if case == "log config" else 3 for name in RECORDED[given][case]
    }


def test_retentions_without_an_end_stay_without() -> None:
    builder = StreamsBuilder()
    stream(builder).group_by_key().windowed_by(TimeWindows.of_size(FIVE)).count(
        Materialized("windows", retention=timedelta.max)
    )
    settings = config(windowstore_changelog_additional_retention_ms=2**63 - 1)
    (topic,) = planned(builder.build(), FakeAdmin({"in": 1}), settings).planned
    assert topic.config["retention.ms"] == str(2**63 - 1)


def test_all_missing_source_topics_are_named() -> None:
    builder = StreamsBuilder()
    stream(builder, "a").merge(stream(builder, "b")).repartition(name="r").to("out")
    builder.global_table("g", key=TEXT, value=TEXT, materialized="global")
    with pytest.raises(MissingTopicError, match=r"'app' don't exist: a, g\. Create them"):
        planned(builder.build(), FakeAdmin({"b": 1}), config())


def test_topics_that_are_joined_must_have_as_many_partitions() -> None:
    builder = StreamsBuilder()
    stream(builder, "a").join(stream(builder, "b"), pair, JoinWindows.of_time_difference(FIVE))
    with pytest.raises(TopologyError, match="a has 2, b has 3"):
        planned(builder.build(), FakeAdmin({"a": 2, "b": 3}), config())


# Patterns


def test_a_pattern_reads_what_is_there_but_nothing_internal() -> None:
    builder = StreamsBuilder()
    source = builder.stream(re.compile("app-.*|logs.*"), key=TEXT, value=TEXT)
    source.repartition(name="r").group_by_key().count("counts")
    topology = builder.build()
    existing = {
        "logs-a": 2,
        "logs-b": 5,
        "app-input": 1,
        "app-r-repartition": 5,
        "app-counts-changelog": 5,
        "app-earlier-changelog": 1,
        "other": 9,
    }
    topics = planned(topology, FakeAdmin(existing), config())
    (node,) = (
        node for node in topology.nodes.values() if isinstance(node, SourceNode) and node.pattern
    )
    assert topics.matching(node) == ("app-input", "logs-a", "logs-b")
    assert {topic.name: topic.partitions for topic in topics.planned} == {
        "app-r-repartition": 5,
        "app-counts-changelog": 5,
    }
    assert topics.all_names() == {
        "app-input",
        "logs-a",
        "logs-b",
        "app-r-repartition",
        "app-counts-changelog",
        "app-headrace",
    }


def test_a_pattern_that_matches_nothing_has_no_tasks_yet() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("logs.*"), key=TEXT, value=TEXT).group_by_key().count("counts")
    topology = builder.build()
    topics = planned(topology, FakeAdmin({}), config())
    assert topics.planned == ()
    assert [topics.counts.of_subtopology(sub) for sub in topology.subtopologies()] == [0]


def test_a_topic_can_match_one_pattern_only() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("logs.*"), key=TEXT, value=TEXT).to("out")
    builder.stream(re.compile(".*-a"), key=TEXT, value=TEXT).to("out")
    with pytest.raises(TopologyError, match="'logs-a' matches the patterns of two sources"):
        planned(builder.build(), FakeAdmin({"logs-a": 1}), config())


def test_what_a_pattern_matches_must_fit_what_it_is_joined_with() -> None:
    builder = StreamsBuilder()
    logs = builder.stream(re.compile("logs.*"), key=TEXT, value=TEXT)
    logs.join(table(builder, "t", "t"), pair).to("out")
    topology = builder.build()
    planned(topology, FakeAdmin({"logs-a": 2, "logs-b": 2, "t": 2}), config())
    with pytest.raises(TopologyError, match="logs-a has 2, logs-b has 3, t has 2"):
        planned(topology, FakeAdmin({"logs-a": 2, "logs-b": 3, "t": 2}), config())


@pytest.mark.parametrize(
    ("name", "internal"),
    [
        ("app-counts-changelog", True),
        ("app-r-repartition", True),
        ("app-fk-subscription-registration-topic", True),
        ("app-fk-subscription-response-topic", True),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000004-topic", True),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000012-topic", True),
        ("app-headrace", True),
        ("app-x-headrace", False),
        ("app-topic", False),
        ("app-counts-changelogs", False),
        ("application-counts-changelog", False),
        ("counts-changelog", False),
    ],
)
def test_names_of_internal_topics(name: str, internal: bool) -> None:
    assert is_internal_name(name, "app") is internal


# Creating and checking


def counting() -> Topology:
    builder = StreamsBuilder()
    stream(builder).group_by(lambda key, value: value, name="g").count("counts")
    return builder.build()


def test_missing_topics_are_created_once() -> None:
    admin = FakeAdmin({"in": 4})
    topics = planned(counting(), admin, config(replication_factor=3))
    topics.ensure()
    topics.ensure()
    assert [
        (topic.name, topic.partitions, topic.replication_factor) for topic in admin.created
    ] == [
        ("app-g-repartition", 4, 3),
        ("app-counts-changelog", 4, 3),
        ("app-headrace", 1, 3),
    ]


def test_a_topic_that_is_being_deleted_is_waited_for() -> None:
    admin = FakeAdmin({"in": 1}, deleting=["app-g-repartition"])
    with pytest.raises(BrokerError, match=r"in time: app-g-repartition\.") as raised:
        planned(counting(), admin, config()).ensure()
    assert raised.value.retriable


def existing(**settings: str) -> FakeAdmin:
    """A cluster with the topics as they should be, but for some settings of the changelog."""
    admin = FakeAdmin({"in": 2})
    planned(counting(), admin, config()).ensure()
    changed = {key.replace("_", "."): value for key, value in settings.items()}
    admin.settings["app-counts-changelog"] |= changed
    return admin


def test_another_number_of_partitions_is_an_error_for_each() -> None:
    admin = existing()
    admin.topics["in"] = 3
    with pytest.raises(StreamsError) as raised:
        planned(counting(), admin, config()).ensure()
    assert str(raised.value).startswith(
        "Internal topics don't fit the topology: app-g-repartition must have 3 partitions, but has "
        "2; app-counts-changelog must have 3 partitions, but has 2. "
    )
    assert "`headrace reset`" in str(raised.value)


def test_a_changelog_that_would_lose_records_is_an_error() -> None:
    with pytest.raises(
        StreamsError, match=r"cleanup\.policy of app-counts-changelog must be compact"
    ):
        planned(counting(), existing(cleanup_policy="compact,delete"), config()).ensure()


def test_a_compacted_repartition_topic_is_an_error() -> None:
    admin = existing()
    admin.settings["app-g-repartition"]["cleanup.policy"] = "compact"
    with pytest.raises(StreamsError, match=r"cleanup\.policy of app-g-repartition must be delete"):
        planned(counting(), admin, config()).ensure()


def test_a_policy_that_was_asked_for_is_none() -> None:
    builder = StreamsBuilder()
    log_config = {"cleanup.policy": "compact,delete"}
    stream(builder).group_by_key().count(Materialized("counts", log_config=log_config))
    admin = FakeAdmin({"in": 1, "app-counts-changelog": 1})
    admin.settings["app-counts-changelog"] = {"cleanup.policy": "compact,delete"}
    planned(builder.build(), admin, config()).ensure()


def test_short_retentions_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    builder = StreamsBuilder()
    windows = stream(builder).group_by(lambda key, value: value, name="g")
    windows.windowed_by(TimeWindows.of_size(FIVE)).count("windows")
    table(builder, "t", versioned())
    admin = FakeAdmin({"in": 1, "t": 1})
    planned(builder.build(), admin, config()).ensure()
    admin.settings["app-windows-changelog"]["retention.ms"] = "1000"
    admin.settings["app-g-repartition"]["retention.ms"] = "1000"
    admin.settings["app-versions-changelog"]["min.compaction.lag.ms"] = "0"
    with caplog.at_level(logging.WARNING, "headrace.kafka"):
        planned(builder.build(), admin, config()).ensure()
    assert [record.getMessage() for record in caplog.records] == [
        "app-g-repartition has retention.ms 1000, not -1: it may lose records.",
        "app-windows-changelog has retention.ms 1000, not 86700000: it may lose records.",
        "app-versions-changelog has min.compaction.lag.ms 0, not 90000000: it may lose versions.",
    ]
    admin.settings["app-windows-changelog"]["retention.ms"] = "-1"
    admin.settings["app-g-repartition"]["retention.ms"] = "-1"
    admin.settings["app-versions-changelog"]["min.compaction.lag.ms"] = "90000000"
    caplog.clear()
    planned(builder.build(), admin, config()).ensure()
    assert not caplog.records
