"""The coordinator of transactions."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from headrace.core.record import TopicPartition

from .refusal import Reason, Refused


class Stage(Enum):
    EMPTY = auto()
    OPEN = auto()
    DECIDED = auto()
    """The outcome is fixed, but markers are still to be written."""


class Producer(NamedTuple):
    """Who asks: a transactional id's producer of one epoch."""

    transactional_id: str
    id: int
    epoch: int


class _Marker(NamedTuple):
    due: float
    target: TopicPartition | str
    """A partition, or a group."""


class _Transaction:
    """What the coordinator knows of a transactional id."""

    def __init__(self, producer_id: int, timeout_s: float) -> None:
        self.producer_id = producer_id
        self.epoch = 0
        self.timeout_s = timeout_s
        self.stage = Stage.EMPTY
        self.began = 0.0
        self.targets: dict[TopicPartition | str, None] = {}
        self.committed = False
        """Of the last one that was decided."""
        self.markers: list[_Marker] = []


WriteMarker = Callable[["TopicPartition | str", int, bool], None]
"""target, producer id, whether it is committed"""


class Transactions:
    """Producer ids and epochs, open transactions, and the markers that are still to be written.

    `marker_delay` gives how long after the decision a marker is written: each target has its own.
    """

    def __init__(self, write_marker: WriteMarker, marker_delay: Callable[[], float]) -> None:
        self._write_marker = write_marker
        self._marker_delay = marker_delay
        self._known: dict[str, _Transaction] = {}
        self._ids = 0

    def init(self, transactional_id: str, timeout_s: float, now: float) -> Producer:
        """A producer that fences those before it."""
        known = self._known.get(transactional_id)
        if known is None:
            self._ids += 1
            known = self._known[transactional_id] = _Transaction(self._ids, timeout_s)
        else:
            if known.stage is Stage.OPEN:
                known.epoch += 1
                self._decide(known, committed=False, now=now)
            if known.stage is Stage.DECIDED:
                raise Refused(Reason.CONCURRENT, "The transaction before is being ended")
            known.epoch += 1
            known.timeout_s = timeout_s
        return Producer(transactional_id, known.producer_id, known.epoch)

    def add(self, producer: Producer, target: TopicPartition | str, now: float) -> None:
        """Have a partition or a group take part."""
        known = self._checked(producer)
        if known.stage is Stage.DECIDED:
            raise Refused(Reason.CONCURRENT, "The transaction before is being ended")
        if known.stage is Stage.EMPTY:
            known.stage, known.began = Stage.OPEN, now
        known.targets[target] = None

    def end(self, producer: Producer, *, committed: bool, now: float) -> None:
        known = self._checked(producer)
        if known.stage is Stage.OPEN:
            self._decide(known, committed=committed, now=now)
        elif known.committed != committed and known.stage is Stage.DECIDED:
            raise Refused(Reason.FENCED, "The transaction was ended otherwise")

    def settle(self, now: float) -> None:
        """Give up what has been open for too long, and write the markers that are due."""
        for known in self._known.values():
            if known.stage is Stage.OPEN and now - known.began > known.timeout_s:
                known.epoch += 1
                self._decide(known, committed=False, now=now)
            if known.stage is Stage.DECIDED:
                for marker in [one for one in known.markers if one.due <= now]:
                    known.markers.remove(marker)
                    self._write_marker(marker.target, known.producer_id, known.committed)
                if not known.markers:
                    known.stage = Stage.EMPTY

    def forget(self, topic: str) -> None:
        """The topic was deleted: one of the same name has no part in what is open."""
        for known in self._known.values():
            known.targets = {one: None for one in known.targets if not _is_of(one, topic)}
            known.markers = [one for one in known.markers if not _is_of(one.target, topic)]

    def is_open(self, transactional_id: str) -> bool:
        known = self._known.get(transactional_id)
        return known is not None and known.stage is not Stage.EMPTY

    def _checked(self, producer: Producer) -> _Transaction:
        known = self._known[producer.transactional_id]
        if known.epoch != producer.epoch:
            raise Refused(
                Reason.FENCED,
                f"Epoch {producer.epoch} of {producer.transactional_id} is not {known.epoch}",
            )
        return known

    def _decide(self, known: _Transaction, *, committed: bool, now: float) -> None:
        known.stage, known.committed = Stage.DECIDED, committed
        known.markers = [_Marker(now + self._marker_delay(), target) for target in known.targets]
        known.targets = {}
        if not known.markers:
            known.stage = Stage.EMPTY


def _is_of(target: TopicPartition | str, topic: str) -> bool:
    return isinstance(target, TopicPartition) and target.topic == topic
