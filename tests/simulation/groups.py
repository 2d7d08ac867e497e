"""Consumer groups: committed offsets, those of open transactions, and members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headrace.core.record import TopicPartition

from .refusal import Reason, Refused

MAX_METADATA = 4096


class Committed(NamedTuple):
    """An offset, its metadata as text, and when it was committed."""

    offset: int
    metadata: str
    at: float


Offsets = Mapping[TopicPartition, tuple[int, str]]


class Member:
    """Somebody in a group, until it leaves or isn't heard of for a session."""

    def __init__(self, name: str, session_s: float, now: float) -> None:
        self.name = name
        self.session_s = session_s
        self.heard = now


class Group:
    """One group. The offsets of a transaction are pending until its marker is here."""

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, Committed] = {}
        self.furthest: dict[TopicPartition, int] = {}
        """The highest offsets that were ever committed."""
        self.pending: dict[int, dict[TopicPartition, Committed]] = {}
        self.members: dict[str, Member] = {}
        """In the order in which they came: the first has the lease."""

    def commit(self, offsets: Offsets, now: float) -> None:
        if self.members:
            # Who is not a member has no say, while there are any.
            raise Refused(Reason.UNKNOWN_MEMBER, "The coordinator is not aware of this member")
        self._set(_checked(offsets, now))

    def commit_later(self, producer: int, offsets: Offsets, now: float) -> None:
        self.pending.setdefault(producer, {}).update(_checked(offsets, now))

    def mark(self, producer: int, *, committed: bool) -> None:
        pending = self.pending.pop(producer, {})
        if committed:
            self._set(pending)

    def _set(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        self.offsets.update(offsets)
        for part, committed in offsets.items():
            self.furthest[part] = max(committed.offset, self.furthest.get(part, 0))

    def stable(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Committed]:
        """Refuses while a transaction is about to change one of them."""
        asked = list(partitions)
        for pending in self.pending.values():
            if any(part in pending for part in asked):
                raise Refused(Reason.UNSTABLE, "There are unstable offsets")
        return {part: self.offsets[part] for part in asked if part in self.offsets}

    def expire(self, before: float) -> None:
        """Forget what was committed before, if nobody is in the group."""
        if not self.members:
            self.offsets = {part: one for part, one in self.offsets.items() if one.at >= before}

    # Members

    def join(self, name: str, session_s: float, now: float) -> None:
        self.members[name] = Member(name, session_s, now)

    def leave(self, name: str) -> None:
        self.members.pop(name, None)

    def heartbeat(self, name: str, now: float) -> None:
        member = self.members.get(name)
        if member is None:
            raise Refused(Reason.UNKNOWN_MEMBER, "The session of this member has ended")
        member.heard = now

    def settle(self, now: float) -> None:
        """Forget members whose sessions have ended."""
        for name, member in list(self.members.items()):
            if now - member.heard > member.session_s:
                del self.members[name]

    @property
    def leader(self) -> str | None:
        return next(iter(self.members), None)


def _checked(offsets: Offsets, now: float) -> dict[TopicPartition, Committed]:
    for part, (_, metadata) in offsets.items():
        if len(metadata) > MAX_METADATA:
            raise Refused(
                Reason.METADATA_TOO_LARGE, f"The metadata of {part} has {len(metadata)} bytes"
            )
    return {part: Committed(offset, text, now) for part, (offset, text) in offsets.items()}
