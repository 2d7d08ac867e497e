"""The topics of an application: which it reads, and its internal ones, created and checked as Kafka
Streams does it."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headrace.core.config import StreamsConfig
from headrace.core.errors import BrokerError, MissingTopicError, StreamsError, TopologyError
from headrace.kafka.port import TopicInfo, Topics, TopicSpec
from headrace.topology.nodes import SourceNode
from headrace.topology.partitions import PartitionCounts
from headrace.topology.stores import (
    SessionStoreSpec,
    StoreSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)
from headrace.topology.topology import Topology

logger = logging.getLogger("headrace.kafka")

_DAY_MS = 24 * 60 * 60 * 1000
_LONG_MAX = 2**63 - 1
_PAUSE_S = 0.1

_INTERNAL_NAME = re.compile(
    r".*-(changelog|repartition|subscription-registration-topic|subscription-response-topic"
    r"|KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)"
)
"""As Kafka's own reset tool has it."""


def claim_topic(application_id: str) -> str:
    """The topic that has the claim on an application, and the group of those who wait for it."""
    return f"{application_id}-headrace"


class InternalTopic(NamedTuple):
    """An internal topic as it must be. `store` is that of a changelog, or None."""

    name: str
    partitions: int
    config: Mapping[str, str]
    store: str | None = None


class InternalTopics:
    """The topics of a topology, planned on those that the cluster has.

    Raises MissingTopicError if a source topic isn't there, TopologyError if topics that are joined
    have different numbers of partitions.
    """

    def __init__(self, topology: Topology, config: StreamsConfig, admin: Topics) -> None:
        self._topology = topology
        self._config = config
        self._admin = admin
        self._existing = admin.list_topics()
        self._sources = [node for node in topology.nodes.values() if isinstance(node, SourceNode)]
        self._matched = self._match_patterns()
        self._check_missing()
        self._by_pattern = {
            source.pattern.pattern: max(map(self._existing.__getitem__, topics), default=0)
            for source in self._sources
            if source.pattern is not None and (topics := self._matched[source.name]) is not None
        }
        self.counts = PartitionCounts(topology, self._external_count)
        self._check_matched()
        self.planned = (*self._repartition_topics(), *self._changelog_topics())
        """Those that Kafka Streams has too."""
        self.claim = InternalTopic(
            claim_topic(config.application_id),
            1,
            {
                "message.timestamp.type": "CreateTime",
                **config.topic_settings(),
                "cleanup.policy": "compact",
            },
        )

    def matching(self, source: SourceNode) -> tuple[str, ...]:
        """The topics that a source with a pattern reads now: never internal ones."""
        return self._matched[source.name]

    def all_names(self) -> set[str]:
        """All topics that are read, and all internal ones."""
        return self._external_topics() | self.internal_names()

    def internal_names(self) -> set[str]:
        return {self.claim.name, *(topic.name for topic in self.planned)}

    def rights(self) -> dict[str, set[str]]:
        """The operations on internal topics that the application must be allowed."""
        rights = {name: {"READ", "WRITE"} for name in self.internal_names()}
        for topic in self._repartition_topics():
            rights[topic.name].add("DELETE")  # of records that were read
        return rights

    def ensure(self) -> None:
        """Create the internal topics that are missing, and check those that are there.

        Raises StreamsError if one has another number of partitions or another cleanup policy than
        it must have.
        """
        wanted = {topic.name: topic for topic in (*self.planned, self.claim)}
        replicas = self._config["replication.factor"]
        deadline = time.monotonic() + self._config["task.timeout.ms"] / 1000
        while missing := self._missing(wanted):
            left = self._admin.create(
                TopicSpec(topic.name, topic.partitions, replicas, topic.config) for topic in missing
            )
            # What "exists" but wasn't found is on its way out, or in: look again.
            if left and time.monotonic() > deadline:
                raise BrokerError(
                    f"Internal topics could not be created in time: {', '.join(sorted(left))}. If "
                    "they are just being deleted, wait until they are gone.",
                    retriable=True,
                )
            if left:
                time.sleep(_PAUSE_S)

    def _missing(self, wanted: Mapping[str, InternalTopic]) -> list[InternalTopic]:
        """Those that aren't there; the others have been checked."""
        found = self._admin.describe(wanted)
        _check_existing(wanted, found, self._admin.configs(found))
        return [topic for name, topic in wanted.items() if name not in found]

    # What is read

    def _match_patterns(self) -> dict[str, tuple[str, ...]]:
        application = self._config.application_id
        own = {f"{application}-{topic}" for topic in self._topology.internal_topics}
        candidates = [
            topic
            for topic in sorted(self._existing)
            if topic not in own and not is_internal_name(topic, application)
        ]
        taken: dict[str, str] = {}
        matched: dict[str, tuple[str, ...]] = {}
        for source in self._sources:
            if source.pattern is None:
                continue
            topics = tuple(topic for topic in candidates if source.pattern.fullmatch(topic))
            for topic in topics:
                if topic in taken:
                    raise TopologyError(
                        f"Topic {topic!r} matches the patterns of two sources, {taken[topic]!r} "
                        f"and {source.name!r}. A topic can be read by one source only."
                    )
                taken[topic] = source.name
            matched[source.name] = topics
        return matched

    def _external_topics(self) -> set[str]:
        return {
            topic
            for source in self._sources
            for topic in self._matched.get(source.name, source.topics)
            if topic not in self._topology.internal_topics
        }

    def _external_count(self, topic: str) -> int:
        # A source with a pattern is asked for by the pattern's text.
        return self._by_pattern[topic] if topic in self._by_pattern else self._existing[topic]

    def _check_missing(self) -> None:
        missing = sorted(self._external_topics() - self._existing.keys())
        if missing:
            raise MissingTopicError(
                f"Source topics of application {self._config.application_id!r} don't exist: "
                f"{', '.join(missing)}. Create them first, with the partitions they should have."
            )

    def _check_matched(self) -> None:
        """Topics that only a pattern names must fit what they are joined with, too."""
        for group in self._topology.copartition_groups:
            if not any(name in self._matched for name in group):
                continue
            counts = {
                topic: self.counts[topic]
                for source in self._sources
                if source.name in group
                for topic in self._matched.get(source.name, source.topics)
            }
            if len(set(counts.values())) > 1:
                listed = ", ".join(f"{topic} has {count}" for topic, count in counts.items())
                raise TopologyError(
                    f"Topics that are joined must have the same number of partitions, but {listed}."
                )

    # What is internal

    def _repartition_topics(self) -> Iterator[InternalTopic]:
        for topic in self._topology.internal_topics:
            yield InternalTopic(
                f"{self._config.application_id}-{topic}",
                self.counts[topic],
                {
                    "message.timestamp.type": "CreateTime",
                    "cleanup.policy": "delete",
                    "segment.bytes": "52428800",
                    "retention.ms": "-1",  # records are purged when they were read
                    **self._config.topic_settings(),
                },
            )

    def _changelog_topics(self) -> Iterator[InternalTopic]:
        for subtopology in self._topology.subtopologies():
            if subtopology.is_global:
                continue
            partitions = self.counts.of_subtopology(subtopology)
            if not partitions:  # a pattern that nothing matches yet
                continue
            for name in sorted(subtopology.stores):
                spec = self._topology.stores[name]
                if spec.logging:
                    yield InternalTopic(
                        f"{self._config.application_id}-{name}-changelog",
                        partitions,
                        _changelog_config(spec, self._config),
                        name,
                    )


def is_internal_name(topic: str, application_id: str) -> bool:
    """Whether the name is that of an internal topic of the application, maybe of an earlier
    topology."""
    own = f"{application_id}-"
    if topic == claim_topic(application_id):
        return True
    return topic.startswith(own) and _INTERNAL_NAME.fullmatch(topic, len(own) - 1) is not None


def _changelog_config(spec: StoreSpec, config: StreamsConfig) -> dict[str, str]:
    """Kafka Streams' own defaults, then those for all topics, then those for this one."""
    policy = "compact"
    derived: dict[str, str] = {}
    match spec:
        case VersionedStoreSpec(history_ms=history):
            derived["min.compaction.lag.ms"] = str(min(history + _DAY_MS, _LONG_MAX))
        case WindowStoreSpec(retention_ms=retention) | SessionStoreSpec(retention_ms=retention):
            policy = "compact,delete"
            additional = config["windowstore.changelog.additional.retention.ms"]
            derived["retention.ms"] = str(min(retention + additional, _LONG_MAX))
    return {
        "message.timestamp.type": "CreateTime",
        "cleanup.policy": policy,
        **config.topic_settings(),
        **derived,
        **spec.log_config,
    }


def _check_existing(
    wanted: Mapping[str, InternalTopic],
    found: Mapping[str, TopicInfo],
    configs: Mapping[str, Mapping[str, str | None]],
) -> None:
    problems = []
    for name, info in found.items():
        topic = wanted[name]
        if info.partitions != topic.partitions:
            problems.append(
                f"{name} must have {topic.partitions} partitions, but has {info.partitions}"
            )
        problems += _policy_problems(topic, configs.get(name, {}))
        for warning in _retention_warnings(topic, configs.get(name, {})):
            logger.warning("%s", warning)
    if problems:
        raise StreamsError(
            f"Internal topics don't fit the topology: {'; '.join(problems)}. They are of another "
            "version of it, or were altered. Alter them back; or stop the application everywhere, "
            "and `headrace reset` deletes them, so that it begins anew."
        )


def _policy_problems(topic: InternalTopic, found: Mapping[str, str | None]) -> Iterator[str]:
    policy = found.get("cleanup.policy") or ""
    wanted = topic.config["cleanup.policy"]
    harmful = "compact" if wanted == "delete" else "delete"
    if harmful in policy and harmful not in wanted:
        yield (
            f"the cleanup.policy of {topic.name} must be {wanted}, but is {policy}, which would "
            "lose records"
        )


def _retention_warnings(topic: InternalTopic, found: Mapping[str, str | None]) -> Iterator[str]:
    if "delete" in (found.get("cleanup.policy") or ""):
        wanted = int(topic.config.get("retention.ms", 0))
        given = int(found.get("retention.ms") or -1)
        if given != -1 and (wanted == -1 or given < wanted):
            yield f"{topic.name} has retention.ms {given}, not {wanted}: it may lose records."
    wanted = int(topic.config.get("min.compaction.lag.ms", 0))
    given = int(found.get("min.compaction.lag.ms") or 0)
    if given < wanted:
        yield f"{topic.name} has min.compaction.lag.ms {given}, not {wanted}: it may lose versions."
