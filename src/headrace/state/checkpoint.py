"""What a task's local state is the state of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.core.record import TopicPartition

RESTORING = -1
"""The `sequence` while a restore is under way: `changelogs` says how far it got."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`sequence` is the number of the commit, within run `run_id`, that the state belongs to;
    `positions` are the offsets of the input that were committed with it. `changelogs` has, for
    each changelog topic, its topic id and the offset up to which it is in the state."""

    run_id: str
    sequence: int
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    changelogs: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "sequence": self.sequence,
            "positions": [[*partition, offset] for partition, offset in self.positions.items()],
            "changelogs": dict(self.changelogs),
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Checkpoint:
        return cls(
            form["run_id"],
            form["sequence"],
            {TopicPartition(topic, number): at for topic, number, at in form["positions"]},
            {topic: (topic_id, at) for topic, (topic_id, at) in form["changelogs"].items()},
        )
