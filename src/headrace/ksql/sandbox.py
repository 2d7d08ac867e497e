"""A place to try statements: nothing that happens there happens outside."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.sql.engine import Engine
from headrace.sql.formats import SchemaRegistry
from headrace.sql.formats.registry import InMemorySchemaRegistry, RegisteredSchema, SchemaText
from headrace.sql.topics import TopicInfo, Topics


class TriedTopics:
    """Topics over others: what is created and deleted is only remembered, and so is which ones
    were asked for."""

    def __init__(self, below: Topics) -> None:
        self._below = below
        self._changed: dict[str, TopicInfo | None] = {}
        self.seen: dict[str, TopicInfo] = {}
        """Topics that were asked for and found, or created."""

    @property
    def created(self) -> list[TopicInfo]:
        return [topic for topic in self._changed.values() if topic is not None]

    @property
    def deleted(self) -> list[str]:
        return [name for name, topic in self._changed.items() if topic is None]

    def find(self, name: str) -> TopicInfo | None:
        found = self._changed[name] if name in self._changed else self._below.find(name)
        if found is not None:
            self.seen[name] = found
        return found

    def create(self, topic: TopicInfo) -> None:
        self._changed[topic.name] = self.seen[topic.name] = topic

    def delete(self, name: str) -> None:
        self._changed[name] = None

    def __iter__(self) -> Iterator[TopicInfo]:
        for topic in self._below:
            if topic.name not in self._changed:
                yield topic
        yield from self.created


class TriedRegistry:
    """A registry over another: what is registered and deleted is only remembered."""

    def __init__(self, below: SchemaRegistry) -> None:
        self._below = below
        self._here = InMemorySchemaRegistry()
        self.registered: list[tuple[str, SchemaText]] = []
        """Subjects, and their new schemas."""
        self.deleted: set[str] = set()

    def register(self, subject: str, schema: SchemaText) -> int:
        known = self._below_of(subject)
        if known is not None and known.schema == schema:
            return known.id
        self.registered.append((subject, schema))
        return self._here.register(subject, schema)

    def latest(self, subject: str) -> RegisteredSchema | None:
        return self._here.latest(subject) or self._below_of(subject)

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        below = None if subject in self.deleted else self._below.version(subject, version)
        return below or self._here.version(subject, version)

    def by_id(self, id: int) -> SchemaText | None:
        return self._below.by_id(id) or self._here.by_id(id)

    def delete(self, subject: str) -> None:
        self.deleted.add(subject)
        self._here.delete(subject)

    def _below_of(self, subject: str) -> RegisteredSchema | None:
        return None if subject in self.deleted else self._below.latest(subject)


class Sandbox:
    """A copy of an engine, with topics and a registry that only remember what they are told."""

    def __init__(self, engine: Engine, topics: Topics) -> None:
        self.topics = TriedTopics(topics)
        self.registry = None if engine.registry is None else TriedRegistry(engine.registry)
        self.engine = engine.sandbox(self.topics, self.registry)
