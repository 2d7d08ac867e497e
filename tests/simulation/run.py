"""One run: a seed in, what came of it out."""

from __future__ import annotations

import hashlib
import logging
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from headrace.app import housekeeping, supervisor
from headrace.core.record import TopicPartition
from headrace.engine import claim, launch

from . import cases
from .cases import CASES, Case
from .judge import judge
from .scheduler import Stuck
from .world import World

GUARANTEES = ("exactly_once_v2", "at_least_once")


@dataclass(frozen=True)
class Outcome:
    """What is known of a run. `digest` is of everything that was ever written."""

    seed: int
    case: str
    guarantee: str
    violations: list[str]
    faults: int
    digest: str
    history: list[tuple[float, str, str]] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        return not self.violations


def case_of(seed: int) -> Case:
    return CASES[seed % len(CASES)]


def run(seed: int, guarantee: str, *, history: bool = False, case: Case | None = None) -> Outcome:
    case = case or case_of(seed)
    with _determined(seed):
        world = World(seed, case, exactly_once=guarantee == GUARANTEES[0])
        if history:
            world.scheduler.history = []
        try:
            world.run()
            violations = judge(world)
        except Stuck as stuck:
            violations = [f"I9 {stuck}"]
    return Outcome(
        seed,
        case.name,
        guarantee,
        violations,
        world.chaos.landed,
        _digest(world),
        world.scheduler.history or [],
    )


def _digest(world: World) -> str:
    digest = hashlib.sha256()
    for topic, partitions in sorted(world.broker.topics().items()):
        for number in range(partitions):
            for entry in world.broker.log(TopicPartition(topic, number)).written:
                digest.update(
                    repr(
                        (topic, number, entry.offset, entry.key, entry.value, entry.timestamp,
                         entry.aborted, entry.is_marker)
                    ).encode()
                )  # fmt: skip
    return digest.hexdigest()[:16]


class _OneByOne:
    """In place of a pool of threads: the order of things is determined."""

    def __init__(self, size: int) -> None: ...
    def __enter__(self) -> _OneByOne:
        return self

    def __exit__(self, *_: object) -> None: ...
    def map(self, function: Callable[[Any], Any], items: Any) -> Iterator[Any]:
        return map(function, items)


@contextmanager
def _determined(seed: int) -> Iterator[None]:
    """Nothing by chance but what the seed says."""
    cases.begin()
    logger = logging.getLogger("headrace")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        for module, name, replacement in (
            (claim, "ThreadPoolExecutor", _OneByOne),
            (launch, "secrets", _Numbers(random.Random(seed))),
            (supervisor, "LocalState", _NoState),
            (housekeeping, "StateDirectory", _NoState),
        ):
            stack.enter_context(patch.object(module, name, replacement))
        try:
            yield
        finally:
            logger.setLevel(level)


class _NoState:
    """In place of state on a real disk."""

    def __init__(self, plan: object) -> None: ...
    def close(self) -> None: ...
    def remove_unused(self, keep: object, delay_ms: int) -> list[str]:
        return []

    @classmethod
    def of(cls, config: object) -> _NoState:
        return cls(config)


class _Numbers:
    def __init__(self, numbers: random.Random) -> None:
        self.randbits = numbers.getrandbits
