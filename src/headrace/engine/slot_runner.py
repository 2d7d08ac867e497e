"""The runner of slots, as a supervisor sees it: Spark's queries, or another way to run a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from headrace.core.errors import StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan
from headrace.engine.report import TaskReport
from headrace.kafka.port import Position

STOP = ["stop"]
"""The answer to a slot that says it is alive, and is to commit what is done and end its batch."""

OnBatch = Callable[[list[TaskReport], float], bool]
"""`on_batch(reports, milliseconds)` says whether to go on. After reports that aren't complete it
never does."""


class SlotRunner(Protocol):
    """Runs the slots of one plan, once: rehearse if need be, warm up, start, stop."""

    def warm_up(self, *, rehearsal: bool = False) -> None:
        """Begin to have all tasks bring their state up to date; or in a rehearsal, to see whether
        they can be built and initialized at all, without Kafka and state."""
        ...

    def warmed_up(self, timeout_s: float) -> list[TaskReport] | None:
        """What the tasks report when that is done; None if it isn't in that time. Raises what kept
        them from it."""
        ...

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        """Begin to process, from these positions on."""
        ...

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being processed right now."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Whether processing has ended within that time."""
        ...

    def completed(self) -> dict[TopicPartition, int]:
        """Up to where all is processed: nothing before it will be read again."""
        ...

    def failure(self) -> Exception:
        """Why processing has ended."""
        ...

    def stop(self) -> None:
        """End it, whatever it is doing."""
        ...


class SlotCluster(Protocol):
    """Where slots run. It is there when it is first asked for something."""

    def cores(self) -> int:
        """How many slots can run at once. What has died since the last time is replaced."""
        ...

    def runner(self, plan: Plan, on_batch: OnBatch) -> SlotRunner: ...

    def explain(self, error: Exception) -> Exception:
        """What to tell of an error: that the cluster itself is gone, if it is."""
        ...

    def hand_over(self, positions: Callable[[], Mapping[TopicPartition, Position]]) -> None:
        """Leave positions so that Kafka Streams, too, can go on from them. `positions` is called
        when nobody else can commit any more."""
        ...

    def close(self) -> None: ...


class ClusterLost(StreamsError):
    """What runs the slots has died, and can be replaced."""
