"""Topics, as far as SQL must know them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class TopicInfo:
    """A topic and its size."""

    name: str
    partitions: int
    replicas: int = 1
    config: Mapping[str, str] = field(default_factory=dict)


class Topics(Protocol):
    """The topics of a cluster."""

    def find(self, name: str) -> TopicInfo | None: ...

    def create(self, topic: TopicInfo) -> None: ...

    def delete(self, name: str) -> None: ...

    def __iter__(self) -> Iterator[TopicInfo]: ...


class InMemoryTopics:
    """Topics that only exist by name, for tests."""

    def __init__(self, *topics: TopicInfo) -> None:
        self._topics = {topic.name: topic for topic in topics}

    def find(self, name: str) -> TopicInfo | None:
        return self._topics.get(name)

    def create(self, topic: TopicInfo) -> None:
        self._topics[topic.name] = topic

    def delete(self, name: str) -> None:
        self._topics.pop(name, None)

    def __iter__(self) -> Iterator[TopicInfo]:
        return iter(list(self._topics.values()))
