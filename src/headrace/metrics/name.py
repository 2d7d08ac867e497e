"""What a metric is called."""

from __future__ import annotations

from dataclasses import dataclass, field

MetricValue = float | str
"""A number, or the text of a metric such as `application-id`."""


@dataclass(frozen=True, slots=True)
class MetricName:
    """Name and group as Kafka Streams has them, and of what it is: tags such as `task-id`."""

    name: str
    group: str
    tags: tuple[tuple[str, str], ...] = ()
    description: str = field(default="", compare=False)

    def tag(self, key: str) -> str | None:
        """The value of a tag, or None."""
        return dict(self.tags).get(key)
