"""The last records of the topics that a topology reads and writes."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import orjson

from headrace.core.errors import ConfigError
from headrace.core.record import ConsumerRecord
from headrace.engine.plan import full_name
from headrace.query.json_values import to_json
from headrace.runtime.serdes import SerdeResolver
from headrace.serde.serde import SerdeLike
from headrace.server.answers import Record, Records
from headrace.server.application import Application
from headrace.server.dead_letters import ReadTopic
from headrace.server.excerpts import bytes_excerpt, excerpt
from headrace.server.problems import ProblemError, without_paths
from headrace.topology.nodes import SinkNode, SourceNode

USUAL = 5
MOST = 20
_OFFSETS = 2 * MOST
"""Some offsets are no records, but ends of transactions."""
_KEPT_S = 2.0


class Serdes(NamedTuple):
    key: SerdeLike
    value: SerdeLike


class TopicRecords:
    """Read from Kafka when somebody asks, but a topic not more often than every few seconds."""

    def __init__(self, application: Application, read: ReadTopic) -> None:
        self._read = read
        self._resolve = SerdeResolver(application.config)
        self._topics = _serdes(application)
        self._kept: dict[str, tuple[float, list[Record]]] = {}
        """Records by topic, and until when they will do."""

    def latest(self, topic: str, limit: int) -> Records:
        if topic not in self._topics:
            raise ProblemError(
                404,
                "unknown-topic",
                f"The topology neither reads nor writes a topic {topic[:80]!r}.",
                "GET /v1/topology lists them.",
            )
        until, records = self._kept.get(topic, (0.0, []))
        if time.monotonic() >= until:
            found = self._read(topic, _OFFSETS)[:MOST]
            records = [self._record(each, self._topics[topic]) for each in found]
            self._kept[topic] = time.monotonic() + _KEPT_S, records
        return Records(topic, records[:limit])

    def _record(self, record: ConsumerRecord, serdes: Serdes) -> Record:
        key, key_problem = self._readable(record.key, serdes.key, "key")
        value, value_problem = self._readable(record.value, serdes.value, "value")
        return Record(
            record.partition,
            record.offset,
            record.timestamp,
            key,
            value,
            key_problem or value_problem,
        )

    def _readable(self, data: bytes | None, serde: SerdeLike, role: str) -> tuple[Any, str | None]:
        """Plain JSON, and None; or the bytes as text, and what is wrong with them."""
        if data is None:
            return None, None
        try:
            text = to_json(self._resolve(serde, role).deserialize(data)).decode()
        except ConfigError:
            return bytes_excerpt(data), f"No serde is known for the {role}."
        except Exception as error:  # of users' serdes, which may raise anything
            problem = f"The {role} can't be read: {type(error).__name__}: {error}"
            return bytes_excerpt(data), without_paths(excerpt(problem))
        cut = excerpt(text)
        return (orjson.loads(text) if cut is text else cut), None


def _serdes(application: Application) -> dict[str, Serdes]:
    """Those of each topic, by its full name. Those who read it know best what is in it."""
    topology, application_id = application.topology, application.config.application_id
    found: dict[str, Serdes] = {}
    for node in topology.nodes.values():
        if isinstance(node, SourceNode):
            for topic in node.topics:
                name = full_name(topology, application_id, topic)
                found[name] = Serdes(node.key_serde, node.value_serde)
        elif isinstance(node, SinkNode) and isinstance(node.topic, str):
            name = full_name(topology, application_id, node.topic)
            found.setdefault(name, Serdes(node.key_serde, node.value_serde))
    return found
