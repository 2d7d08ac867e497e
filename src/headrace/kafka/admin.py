"""Topics and groups: what there is, and to create and delete them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicCollection,
)
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]

from headrace.core.errors import BrokerError
from headrace.core.record import TopicPartition
from headrace.kafka.errors import DENIED, Complaints, Right, denied, error_of, made, tried
from headrace.kafka.port import Position, TopicInfo, TopicSpec
from headrace.kafka.positions import client_positions
from headrace.kafka.settings import ClientSettings

T = TypeVar("T")

_PAUSE_S = 0.05
_LOOK_S = 1.0
_FIRST_ATTEMPT_S = 5.0
"""Time enough for the controller: what it did after all can't be told from what was there."""
_UNKNOWN_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
_UNKNOWN_GROUP = (KafkaError.GROUP_ID_NOT_FOUND,)


class Admin:
    """Asks and changes the cluster. Passing errors are tried again for `timeout_s`."""

    def __init__(self, settings: ClientSettings, *, timeout_s: float = 60.0) -> None:
        self._timeout_s = timeout_s
        self._is_interrupted = settings.is_interrupted
        self._complaints = Complaints()
        self._client = made(AdminClient, settings.admin(), self._complaints)

    def cluster_id(self) -> str:
        """The id of the cluster. Raises BrokerError if it can't be reached."""
        return self._tried(lambda timeout: self._client.cluster_id(timeout), "Could not connect")

    def list_topics(self) -> dict[str, int]:
        """All topics, but those of Kafka itself, with their numbers of partitions."""
        found = self._tried(
            lambda timeout: self._client.list_topics(timeout=timeout), "Could not list the topics"
        )
        return {
            name: len(topic.partitions)
            for name, topic in found.topics.items()
            if not name.startswith("__")
        }

    def describe(self, topics: Iterable[str]) -> dict[str, TopicInfo]:
        """Those of the topics that exist."""
        names = sorted(set(topics))
        if not names:
            return {}
        found = self._each(
            lambda timeout: self._client.describe_topics(
                TopicCollection(names), request_timeout=timeout
            ),
            f"Could not describe {', '.join(names)}",
            needs=_right("DESCRIBE", "TOPIC"),
            ignored=_UNKNOWN_TOPIC,
        )
        return {
            name: TopicInfo(
                name,
                len(topic.partitions),
                str(topic.topic_id),
                min((len(part.replicas) for part in topic.partitions), default=0),
            )
            for name, topic in found.items()
        }

    def check_rights(self, topics: Mapping[str, Collection[str]]) -> None:
        """Raise AuthorizationError if one of these operations on topics isn't allowed. Topics that
        don't exist are left out."""
        if not topics:
            return
        names = TopicCollection(sorted(topics))
        what = f"Could not find out what is allowed with {', '.join(sorted(topics))}"
        found = self._each(
            lambda timeout: self._client.describe_topics(
                names, include_authorized_operations=True, request_timeout=timeout
            ),
            what,
            needs=lambda name: [Right(operation, "TOPIC", name) for operation in topics[name]],
            ignored=_UNKNOWN_TOPIC,
            attempt_s=1.0,
        )
        missing = [
            Right(operation, "TOPIC", name)
            for name, topic in found.items()
            # Brokers that are too old to say don't.
            if (allowed := {right.name for right in topic.authorized_operations or ()})
            for operation in topics[name]
            if operation not in allowed
        ]
        if missing:
            raise denied("The application can't work", missing)

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str | None]]:
        """The configuration, defaults included, of those of the topics that exist."""
        resources = [
            ConfigResource(ConfigResource.Type.TOPIC, name) for name in sorted(set(topics))
        ]
        if not resources:
            return {}
        found = self._each(
            lambda timeout: self._client.describe_configs(resources, request_timeout=timeout),
            "Could not read the configuration of topics",
            needs=_right("DESCRIBE_CONFIGS", "TOPIC"),
            ignored=_UNKNOWN_TOPIC,
        )
        return {
            resource.name: {name: entry.value for name, entry in entries.items()}
            for resource, entries in found.items()
        }

    def create(self, topics: Iterable[TopicSpec]) -> set[str]:
        """Create topics, and wait until they can be found. Gives the names of those that are there
        already, and stay as they are."""
        new = [
            NewTopic(
                topic.name,
                num_partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                config=dict(topic.config),
            )
            for topic in topics
        ]
        if not new:
            return set()
        created = self._each(
            lambda timeout: self._client.create_topics(
                new, request_timeout=timeout, operation_timeout=timeout
            ),
            f"Could not create {', '.join(topic.topic for topic in new)}",
            needs=_right("CREATE", "TOPIC"),
            ignored=(KafkaError.TOPIC_ALREADY_EXISTS,),
        )
        self._wait_until(lambda: self.describe(created).keys() == created.keys())
        return {topic.topic for topic in new} - created.keys()

    def delete(self, topics: Iterable[str]) -> None:
        """Delete topics, and wait until they are gone; those that don't exist are ignored."""
        names = sorted(set(topics))
        if not names:
            return
        self._each(
            lambda timeout: self._client.delete_topics(
                names, request_timeout=timeout, operation_timeout=timeout
            ),
            f"Could not delete {', '.join(names)}",
            needs=_right("DELETE", "TOPIC"),
            ignored=_UNKNOWN_TOPIC,
        )
        self._wait_until(lambda: not self.describe(names))

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Delete the records before the given offsets; partitions that are gone are ignored."""
        if not offsets:
            return
        asked = [ClientPartition(topic, number, to) for (topic, number), to in offsets.items()]
        self._each(
            lambda timeout: self._client.delete_records(asked, request_timeout=timeout),
            "Could not delete records",
            needs=_right("DELETE", "TOPIC"),
            ignored=(*_UNKNOWN_TOPIC, KafkaError.OFFSET_OUT_OF_RANGE),
        )

    def group_members(self, group: str) -> list[str]:
        """The client ids of those who are in a group now; none if there is no such group."""
        found = self._each(
            lambda timeout: self._client.describe_consumer_groups([group], request_timeout=timeout),
            f"Could not describe group {group}",
            needs=_right("READ", "GROUP"),
            ignored=_UNKNOWN_GROUP,
        )
        described = found.get(group)
        if described is None or described.state is ConsumerGroupState.DEAD:
            return []
        return [member.client_id for member in described.members]

    def holder_of(self, group: str, topic: str) -> str | None:
        """The client id of the member of a group that has partition 0 of a topic."""
        found = self._each(
            lambda timeout: self._client.describe_consumer_groups([group], request_timeout=timeout),
            f"Could not describe group {group}",
            needs=_right("READ", "GROUP"),
            ignored=_UNKNOWN_GROUP,
        )
        described = found.get(group)
        for member in () if described is None else described.members:
            for part in member.assignment.topic_partitions:
                if (part.topic, part.partition) == (topic, 0):
                    return str(member.client_id)
        return None

    def check_group_is_free(self, group: str) -> None:
        """Raise BrokerError if somebody is in the group.

        Brokers take the positions of a transaction without asking who is in the group: so two
        applications could go on side by side, one of them Kafka Streams. Members that speak the
        `streams` group protocol are not seen.
        """
        members = self.group_members(group)
        if members:
            raise BrokerError(
                f"The consumer group {group} is in use by {', '.join(sorted(set(members)))}. Stop "
                "them, or give this application another application.id. A member that didn't leave "
                "in order is in the group until its session times out."
            )

    def group_offsets(self, group: str) -> dict[TopicPartition, int]:
        """All committed offsets of a group."""
        found = self._each(
            lambda timeout: self._client.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group)],
                require_stable=True,
                request_timeout=timeout,
            ),
            f"Could not read the positions of group {group}",
            needs=_right("READ", "GROUP"),
            ignored=_UNKNOWN_GROUP,
        )
        return {
            TopicPartition(part.topic, part.partition): part.offset
            for result in found.values()
            for part in result.topic_partitions
            if part.offset >= 0
        }

    def alter_offsets(self, group: str, positions: Mapping[TopicPartition, Position]) -> None:
        """Commit positions for a group that nobody is in."""
        if not positions:
            return
        asked = [ConsumerGroupTopicPartitions(group, client_positions(positions))]
        self._each(
            lambda timeout: self._client.alter_consumer_group_offsets(
                asked, request_timeout=timeout
            ),
            f"Could not set the positions of group {group}",
            needs=_right("READ", "GROUP"),
        )

    def delete_group(self, group: str) -> None:
        """Delete a group and its positions. One that doesn't exist is ignored."""
        self._each(
            lambda timeout: self._client.delete_consumer_groups([group], request_timeout=timeout),
            f"Could not delete group {group}",
            needs=_right("DELETE", "GROUP"),
            ignored=_UNKNOWN_GROUP,
        )

    def close(self) -> None:
        if hasattr(self, "_client"):
            del self._client

    def _wait_until(self, is_done: Callable[[], bool]) -> None:
        """Brokers hear a little later what the controller has decided."""
        deadline = time.monotonic() + self._timeout_s
        while not is_done() and time.monotonic() < deadline and not self._is_interrupted():
            time.sleep(_PAUSE_S)

    def _each(
        self,
        call: Callable[[float], Mapping[Any, Future[T]]],
        what: str,
        *,
        needs: Callable[[Any], Iterable[Right]],
        ignored: Collection[int] = (),
        attempt_s: float = _FIRST_ATTEMPT_S,
    ) -> dict[Any, T]:
        """The results of a call that gives a future for each thing; without ignored failures.

        `needs` are the rights that it takes for a thing.
        """

        def gathered(timeout: float) -> dict[Any, T]:
            results = {}
            missing: list[Right] = []
            for name, future in call(timeout).items():
                try:
                    results[name] = future.result(timeout + 1)
                except KafkaException as exception:
                    code = error_of(exception).code()
                    if code in DENIED:
                        missing += needs(name)
                    elif code not in ignored:
                        raise
                except TimeoutError:
                    raise KafkaException(
                        KafkaError(KafkaError._TIMED_OUT, "No answer in time")
                    ) from None
            if missing:
                raise denied(what, missing)
            return results

        def attempted(timeout: float) -> dict[Any, T]:
            try:
                return gathered(timeout)
            except KafkaException as exception:
                if error_of(exception).code() == KafkaError._TIMED_OUT:
                    self._look_around()
                raise

        return self._tried(attempted, what, attempt_s)

    def _look_around(self) -> None:
        """Find out who is there: librdkafka asks one broker, and waits for it if it is gone."""
        with suppress(KafkaException):
            self._client.list_topics(timeout=_LOOK_S)

    def _tried(self, call: Callable[[float], T], what: str, attempt_s: float = 1.0) -> T:
        return tried(
            call,
            what,
            deadline=time.monotonic() + self._timeout_s,
            complaints=self._complaints,
            serve=lambda: self._client.poll(0),
            is_interrupted=self._is_interrupted,
            attempt_s=attempt_s,
        )


def _right(operation: str, resource: str) -> Callable[[Any], Iterable[Right]]:
    """The right to do that with a thing, which is a name, a resource or a partition."""

    def needs(thing: Any) -> Iterable[Right]:
        name = getattr(thing, "topic", None) or getattr(thing, "name", None) or thing
        return [Right(operation, resource, str(name))]

    return needs
