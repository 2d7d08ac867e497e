"""A model of the disks of a host, with the port that `StateDirectory` and `TaskState` have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from headrace.core.clock import PacedClock
from headrace.core.errors import LockError, StateError, StreamsError
from headrace.runtime.stores.ordered_map import InMemoryOrderedMap, OrderedMap
from headrace.state.about import Facts
from headrace.state.checkpoint import Checkpoint
from headrace.state.environment import FileInfo

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.001, 1.0


class Owner(Protocol):
    """A process, as far as a disk knows it."""

    @property
    def name(self) -> str: ...
    @property
    def clock(self) -> PacedClock: ...
    def step(self, what: str) -> None: ...


@dataclass(frozen=True)
class Content:
    """What a commit left: all of it, or nothing."""

    identity: str
    checkpoint: Checkpoint | None = None
    facts: Facts = field(default_factory=dict)
    maps: Mapping[str, Mapping[bytes, bytes]] = field(default_factory=dict)
    written_s: float = 0.0


class Place:
    """The directory of a task."""

    def __init__(self) -> None:
        self.content: Content | None = None
        self.holder: Owner | None = None
        self.is_synced = True
        """Whether a loss of power would leave it as it is."""
        self.is_doubtful = False
        self.writer = ""
        """The process that wrote last."""

    def put_back(self, content: Content) -> None:
        """Somebody has put an older copy here."""
        self.content, self.writer = content, ""


class Host:
    """The places of a host's applications, and the notes beside them. Locks die with their
    processes; content doesn't."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.places: dict[str, Place] = {}
        self.notes: dict[str, str] = {}
        self.is_full = False

    def place(self, task: str) -> Place:
        return self.places.setdefault(task, Place())

    def died(self, process: Owner) -> None:
        for place in self.places.values():
            if place.holder is process:
                place.holder = None

    def lose_power(self) -> None:
        """What was not synced may be anything now."""
        for place in self.places.values():
            place.holder = None
            if not place.is_synced:
                place.is_doubtful = True


class ModelDisk:
    """What one process has of a host's disks."""

    def __init__(self, host: Host, process: Owner) -> None:
        self._host = host
        self._process = process

    def state(self, task: str, identity: str) -> ModelState:
        return ModelState(self._host, self._process, task, identity)

    def read(self, name: str) -> str:
        self._process.step(f"disk: read {name}")
        return self._host.notes.get(name, "")

    def write(self, name: str, text: str) -> None:
        self._process.step(f"disk: write {name}")
        if self._host.is_full:
            raise StreamsError(f"State directory of {self._host.name} can't be used: it is full.")
        self._host.notes[name] = text


class ModelState:
    """The state of a task, in memory, but for one process at a time."""

    def __init__(self, host: Host, process: Owner, task: str, identity: str) -> None:
        self.reset_reason: str | None = None
        self._host = host
        self._process = process
        self._task = task
        self._identity = identity
        self._place = host.place(task)
        self._seen = Content(identity)
        """What the maps were made of."""
        self._had_a_turn = False
        self._reads = False
        self._maps: dict[str, ModelMap] = {}
        self._dropped: set[str] = set()

    # Turns

    def acquire(self, timeout_s: float) -> None:
        place, clock = self._place, self._process.clock
        self._process.step(f"disk: acquire {self._task}")
        if place.holder is self._process:
            raise StateError(f"The state of {self._task} was acquired already")
        deadline, wait = clock.seconds() + timeout_s, _FIRST_WAIT_S
        while place.holder is not None:
            if clock.seconds() >= deadline:
                raise LockError(f"The state of {self._task} is in use by {place.holder.name}.")
            clock.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT_S)
        place.holder = self._process
        self.reset_reason = self._reason_for_distrust()
        place.is_doubtful = False
        if self.reset_reason is not None:
            place.content = None
        place.is_synced = False
        self._had_a_turn = True
        self._look()

    def share(self) -> None:
        self.rollback()
        self._let_go()

    def release(self) -> None:
        self._forget_changes()
        self._reads = False
        self._let_go()

    def close(self) -> None:
        self.release()
        if self._had_a_turn and self._place.holder is None:
            self._process.step(f"disk: sync {self._task}")
            self._place.is_synced = True

    # Storage

    @property
    def checkpoint(self) -> Checkpoint | None:
        return self._seen.checkpoint

    def age_ms(self) -> float:
        return (self._process.clock.seconds() - self._seen.written_s) * 1000

    def map(self, name: str) -> OrderedMap:
        found = self._maps.get(name)
        if found is None:
            found = self._maps[name] = ModelMap()
            if self._reads and name not in self._dropped:
                found.fill(self._seen.maps.get(name, {}))
        return found

    def names(self, prefix: str) -> list[str]:
        stored = self._seen.maps.keys() - self._dropped
        changed = {name for name, found in self._maps.items() if found.is_changed}
        return sorted(name for name in stored | changed if name.startswith(prefix))

    def drop(self, name: str) -> None:
        self._maps.pop(name, None)
        if name in self._seen.maps:
            self._dropped.add(name)

    def facts(self, store: str) -> Mapping[str, int]:
        return self._seen.facts.get(store, {})

    def sizes(self) -> dict[str, tuple[int, int]]:
        return {}

    def file(self) -> FileInfo | None:
        return None

    # Changes

    def commit(self, checkpoint: Checkpoint, facts: Facts) -> None:
        self._require_turn()
        self._process.step(f"disk: commit {self._task}")
        if self._host.is_full:
            self.rollback()
            raise StreamsError(
                f"The state of {self._task} could not be written: No space left on device."
            )
        maps = {name: one for name, one in self._seen.maps.items() if name not in self._dropped}
        maps |= {name: found.content() for name, found in self._maps.items() if found.is_changed}
        content = Content(
            self._identity,
            Checkpoint.from_json(checkpoint.to_json()),
            {store: dict(found) for store, found in facts.items()},
            maps,
            self._process.clock.seconds(),
        )
        self._place.content = self._seen = content
        self._place.writer = self._process.name
        self._dropped.clear()
        for found in self._maps.values():
            found.is_changed = False
        self._process.step(f"disk: committed {self._task}")

    def rollback(self) -> None:
        self._forget_changes()

    def wipe(self) -> None:
        self._require_turn()
        self._process.step(f"disk: wipe {self._task}")
        self._place.content = None
        self._forget_changes()
        self._look()

    # How it works

    def _reason_for_distrust(self) -> str | None:
        place = self._place
        if place.is_doubtful:
            return "its pages are not as they were written"
        if place.content is not None and place.content.identity != self._identity:
            return "its stores were of another kind"
        return None

    def _look(self) -> None:
        """Have the maps show what is there."""
        content = self._place.content or Content(self._identity)
        self._reads = True
        if content is not self._seen:
            self._seen = content
            self._fill()

    def _fill(self) -> None:
        for name, found in self._maps.items():
            found.fill(self._seen.maps.get(name, {}))

    def _forget_changes(self) -> None:
        self._dropped.clear()
        for name, found in self._maps.items():
            if found.is_changed:
                found.fill(self._seen.maps.get(name, {}))

    def _let_go(self) -> None:
        if self._place.holder is self._process:
            self._place.holder = None

    def _require_turn(self) -> None:
        if self._place.holder is not self._process:
            raise StateError(f"The state of {self._task} must be acquired first")


class ModelMap(InMemoryOrderedMap):
    """A map that knows whether it was changed."""

    __slots__ = ("is_changed",)

    def __init__(self) -> None:
        super().__init__()
        self.is_changed = False

    def put(self, key: bytes, value: bytes) -> None:
        self.is_changed = True
        super().put(key, value)

    def delete(self, key: bytes) -> None:
        self.is_changed = True
        super().delete(key)

    def content(self) -> dict[bytes, bytes]:
        return dict(self._entries)

    def fill(self, content: Mapping[bytes, bytes]) -> None:
        self._entries.clear()
        self._entries.update(content)
        self._index.reset()
        self.is_changed = False
