"""Planted faults: the engine with a mistake in it, each of which the simulation must find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

from headrace.app.housekeeping import Housekeeping
from headrace.core.errors import BrokerError
from headrace.core.record import TopicPartition
from headrace.engine import launch
from headrace.engine.claim import Claim
from headrace.engine.cycle import CommitCycle
from headrace.engine.merge import InputMerge
from headrace.engine.restore import Restore
from headrace.engine.task import SEQUENCE, ActiveTask
from headrace.runtime.task import StreamTask

from .clients import ModelChangelogs, ModelPlainProducer, ModelTransactionalProducer
from .run import GUARANTEES, Outcome, case_of, run

MOST_SEEDS = 2000
_EXACTLY, _AT_LEAST = GUARANTEES


@dataclass(frozen=True)
class Planted:
    """A mistake: what replaces which method. It shows in the topologies whose names begin with one
    of `shows_in`."""

    name: str
    owner: Any
    method: str
    mistake: Callable[..., Any]
    guarantee: str = _EXACTLY
    shows_in: tuple[str, ...] = ("",)

    @contextmanager
    def planted(self) -> Iterator[None]:
        original = self._original

        def mistaken(this: Any, *arguments: Any, **options: Any) -> Any:
            return self.mistake(partial(original, this), this, *arguments, **options)

        with patch.object(self.owner, self.method, mistaken):
            yield

    @property
    def _original(self) -> Any:
        return _ORIGINALS[self.owner, self.method]

    def seeds(self) -> Iterator[int]:
        return (seed for seed in range(MOST_SEEDS) if case_of(seed).name.startswith(self.shows_in))

    def find(self) -> tuple[int, Outcome] | None:
        """How many seeds it took, and what came of the last."""
        with self.planted():
            for number, seed in enumerate(self.seeds(), 1):
                outcome = run(seed, self.guarantee)
                if not outcome.is_right and self._is_to_blame(seed):
                    return number, outcome
        return None

    def _is_to_blame(self, seed: int) -> bool:
        with patch.object(self.owner, self.method, self._original):
            return run(seed, self.guarantee).is_right


# The mistakes. Each gets the method as it was, the object, and what the method is given.


def _nothing(original: Any, this: Any, *_: Any, **__: Any) -> None: ...


def _one_too_high(original: Any, this: Any) -> Any:
    return {part: at._replace(offset=at.offset + 1) for part, at in original().items()}


def _same_sequence(original: Any, this: Any) -> Any:
    return {
        part: at._replace(metadata={**at.metadata, SEQUENCE: max(0, at.metadata[SEQUENCE] - 1)})
        for part, at in original().items()
    }


def _without_operators(original: Any, this: Any) -> Any:
    return {
        part: at._replace(metadata={SEQUENCE: at.metadata[SEQUENCE]})
        for part, at in original().items()
    }


def _position_apart(
    original: Any, this: Any, group: Any, positions: Mapping[TopicPartition, Any]
) -> None:
    original(group, {})
    this._requests.make("commit positions", lambda: this._broker.commit(group, _encoded(positions)))


def _encoded(positions: Mapping[TopicPartition, Any]) -> Any:
    from .clients import _encoded as encoded

    return encoded(positions)


def _answer_assumed(original: Any, this: Any, *arguments: Any) -> None:
    try:
        original(*arguments)
    except BrokerError:
        this.usable = True


def _all_rows(original: Any, this: Any, partition: TopicPartition, chunk: Any) -> Iterator[None]:
    this.kernel.positions[partition] = 0
    yield from original(partition, chunk)


def _too_far(original: Any, this: Any, *arguments: Any) -> None:
    for topic, (topic_id, offset) in this._changelogs.items():
        if this._sent[topic]:
            this._changelogs[topic] = topic_id, offset + 3
    original(*arguments)


def _trusting(original: Any, this: Any, run: str, sequence: int, positions: Any) -> bool:
    return this._state.checkpoint is not None


def _early_end(original: Any, this: Any, name: Any, store: Any, part: Any, start: int, end: int,
               *rest: Any) -> None:  # fmt: skip
    original(name, store, part, start, max(start, end - 2), *rest)


def _without_tombstones(
    original: Any, this: Any, store: str, key: bytes, value: bytes | None, *rest: Any
) -> None:
    if value is not None:
        original(store, key, value, *rest)


def _part_of_outbox(original: Any, this: Any) -> Sequence[Any]:
    outbox: Sequence[Any] = original()
    return outbox[:-1] if len(outbox) > 5 else outbox


def _reversed_outbox(original: Any, this: Any) -> Sequence[Any]:
    outbox: Sequence[Any] = original()
    return outbox[::-1]


def _uncommitted_too(original: Any, this: Any, partition: Any, start: int, end: int) -> Any:
    fetch = this._broker.fetch
    with patch.object(
        this._broker, "fetch", lambda *a, committed: fetch(*a, committed=False), create=True
    ):
        found = list(original(partition, start, end))
    return iter(found)


def _positions_first(original: Any, this: Any) -> None:
    """Before earlier attempts are fenced."""
    before = this._worker.kafka.group.committed(this._plan.inputs)
    original()
    this._positions = before


def _purge_too_far(original: Any, this: Any, plan: Any, positions: Mapping[Any, int]) -> None:
    original(plan, {part: at + 4 for part, at in positions.items()})


def _position_before_records(original: Any, this: Any, group: Any, positions: Any) -> None:
    this._group.commit(positions)
    original(group, {})


def _saved_early(original: Any, this: Any) -> Any:
    """The state, before the transaction is committed."""
    this._state.commit(this._saved, this.kernel.facts())
    return original()


def _always_the_same(original: Any, this: Any, positions: Any, *arguments: Any) -> Any:
    """Whoever else had the task since."""
    if this.kernel is not None:
        positions = {
            part: at._replace(metadata={**at.metadata, SEQUENCE: this._sequence})
            for part, at in positions.items()
        }
    return original(positions, *arguments)


def _latest_first(original: Any, this: Any) -> Iterator[None]:
    """The largest timestamp at the head of a partition first."""
    for queue in this._queues.values():
        queue.__class__ = _Backwards
    yield from original()


def _plant(
    name: str, owner: Any, method: str, mistake: Any, *shows_in: str, **more: str
) -> Planted:
    return Planted(name, owner, method, mistake, shows_in=shows_in or ("",), **more)


def _backwards() -> Any:
    from headrace.engine import merge

    class Backwards(merge._Queue):
        """Shows its head with the sign reversed."""

        __slots__ = ()

        @property
        def head(self) -> int:
            return -super().head

        def take(self, limit: int | None) -> Any:
            return super().take(None if limit is None else -limit)

    return Backwards


_Backwards: Any = _backwards()

PLANTED: tuple[Planted, ...] = (
    _plant("the claim isn't checked", Claim, "check", _nothing),
    _plant("earlier runs aren't fenced", launch, "fence", _nothing),
    _plant("state is applied before the commit", ActiveTask, "positions", _saved_early, "gather"),
    _plant("positions are read before the fence", CommitCycle, "begin", _positions_first),
    _plant(
        "a producer is used on after an unknown outcome",
        ModelTransactionalProducer, "commit", _answer_assumed,
    ),
    _plant(
        "positions aren't in the transaction",
        ModelTransactionalProducer, "commit", _position_apart,
    ),
    _plant("an offset is one too high", ActiveTask, "positions", _one_too_high),
    _plant("the sequence isn't counted", ActiveTask, "positions", _same_sequence),
    _plant("the times of operators are lost", ActiveTask, "positions", _without_operators, "win"),
    _plant("committed rows aren't dropped", ActiveTask, "process", _all_rows),
    _plant("the checkpoint is ahead of the changelog", ActiveTask, "apply", _too_far, "gather"),
    _plant("the sequence isn't looked at", ActiveTask, "open", _always_the_same, "gather"),
    _plant("the cache isn't flushed", ActiveTask, "flush_caches", _nothing, "gather-cached"),
    _plant("part of the outbox isn't sent", ActiveTask, "take_outbox", _part_of_outbox),
    _plant("the outbox is sent backwards", ActiveTask, "take_outbox", _reversed_outbox),
    _plant("any local state is trusted", Restore, "is_current", _trusting, "gather", "count"),
    _plant("a restore ends early", Restore, "_restore", _early_end, "gather", "count"),
    _plant("foreign state isn't wiped", Restore, "check", _nothing, "gather", "count"),
    _plant(
        "uncommitted records are restored", ModelChangelogs, "read", _uncommitted_too, "gather",
        "count",
    ),
    _plant("tombstones aren't logged", StreamTask, "_log", _without_tombstones, "gather"),
    _plant("records are merged backwards", InputMerge, "drain", _latest_first, "table", "streams"),
    _plant("repartition topics are purged too far", Housekeeping, "run", _purge_too_far, "regroup"),
    _plant(
        "positions are committed before the records", ModelPlainProducer, "commit",
        _position_before_records, guarantee=_AT_LEAST,
    ),
    _plant("an offset is one too high, at least once", ActiveTask, "positions", _one_too_high,
           guarantee=_AT_LEAST),
)  # fmt: skip


_ORIGINALS = {(one.owner, one.method): getattr(one.owner, one.method) for one in PLANTED}
