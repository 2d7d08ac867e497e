"""Sinks: where records leave the task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import StreamsError
from headrace.core.handlers import Stage
from headrace.core.record import ProducerRecord
from headrace.runtime.context import Process, TaskContext
from headrace.runtime.failure import FailureHandling, describe
from headrace.topology.nodes import SinkNode


@dataclass(slots=True)
class Sink:
    """Serializes records and sends them: `send` gets tuples with the fields of ProducerRecord."""

    spec: SinkNode
    serialize_key: Callable[[Any], bytes]
    serialize_value: Callable[[Any], bytes]
    context: TaskContext
    failures: FailureHandling
    send: Callable[[Any], None]
    partitions_of: Callable[[str], int]

    def compiled(self, topic_name: Callable[[str], str]) -> Process:
        """`topic_name(topic)` gives the full name of a topic."""
        topic = self.spec.topic
        if callable(topic):
            return self._to_named_topics(topic)
        if self.spec.partitioner is None:
            return self._to_topic(topic_name(topic))
        return self._to_partitions(topic_name(topic))

    def _to_topic(self, topic: str) -> Process:
        """The way of most records: one topic, and the default partitioner."""
        context, send = self.context, self.send
        serialize_key, serialize_value = self.serialize_key, self.serialize_value

        def process(key: Any, value: Any) -> None:
            try:
                raw_key = None if key is None else serialize_key(key)
                raw_value = None if value is None else serialize_value(value)
            except Exception:
                # Rare: once more, to find out which of the two it was.
                self._send(topic, None, key, value)
                return
            headers = context.headers
            headers = tuple(headers) if headers else ()
            send((topic, None, raw_key, raw_value, context.timestamp, headers))

        return process

    def _to_partitions(self, topic: str) -> Process:
        def process(key: Any, value: Any) -> None:
            self._partition_and_send(topic, key, value)

        return process

    def _to_named_topics(self, topic_of: Callable[[Any, Any, Any], str]) -> Process:
        def process(key: Any, value: Any) -> None:
            topic = topic_of(key, value, self.context.snapshot())
            self._partition_and_send(topic, key, value)

        return process

    def _partition_and_send(self, topic: str, key: Any, value: Any) -> None:
        partitioner = self.spec.partitioner
        partitions = None
        if partitioner is not None:
            partitions = partitioner(topic, key, value, self.partitions_of(topic))
        if partitions is None or isinstance(partitions, int):
            self._send(topic, partitions, key, value)
            return
        if not partitions:
            self.context.drop(
                f"the partitioner of sink {self.spec.name} gave no partition of {topic}"
            )
        for partition in partitions:
            self._send(topic, partition, key, value)

    def _send(self, topic: str, partition: int | None, key: Any, value: Any) -> None:
        context = self.context
        headers = tuple(context.headers)
        stage, what = Stage.SERIALIZE_KEY, key
        try:
            raw_key = None if key is None else self.serialize_key(key)
            stage, what = Stage.SERIALIZE_VALUE, value
            raw_value = None if value is None else self.serialize_value(value)
        except Exception as error:
            if type(error) is TypeError:
                raise StreamsError(self._wrong_type(stage, topic, what, error)) from error
            unsent = ProducerRecord(topic, partition, key, value, context.timestamp, headers)
            self.failures.serialization_failed(stage, self.spec.name, unsent, error)
            return
        self.send((topic, partition, raw_key, raw_value, context.timestamp, headers))

    def _wrong_type(self, stage: Stage, topic: str, what: Any, error: TypeError) -> str:
        return (
            f"Could not {stage.value} for topic {topic} (sink {self.spec.name}): the serde doesn't "
            f"take a {type(what).__name__} ({describe(error)}). Give the sink the right serde, or "
            "set default.key.serde and default.value.serde."
        )
