"""The log of one partition, as a broker keeps it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from headrace.core.record import NO_HEADERS, Header

NO_PRODUCER = -1
"""Of records that belong to no transaction."""


class Entry:
    """A record, or the marker that ends a transaction."""

    __slots__ = (
        "aborted", "headers", "is_marker", "key", "offset", "producer", "swept_at", "timestamp",
        "value", "written_at",
    )  # fmt: skip

    def __init__(
        self,
        offset: int,
        producer: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Sequence[Header] = NO_HEADERS,
        *,
        is_marker: bool = False,
    ) -> None:
        self.offset = offset
        self.producer = producer
        self.key = key
        self.value = value
        self.timestamp = timestamp
        self.headers = headers
        self.is_marker = is_marker
        self.aborted = False
        self.swept_at: float | None = None
        """When a compaction first came across this tombstone."""
        self.written_at = 0.0
        """For whoever judges a run."""


class PartitionLog:
    """Entries in the order of their offsets. Compaction and deletion leave gaps; `written` has
    everything that was ever appended, for whoever judges a run."""

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.entries: list[Entry] = []
        self.written: list[Entry] = []
        self.open: dict[int, int] = {}
        """The first offset of each open transaction, by producer."""

    @property
    def stable_end(self) -> int:
        """The last stable offset: before it, every transaction is decided."""
        return min(self.open.values()) if self.open else self.end

    def end_for(self, *, committed: bool) -> int:
        return self.stable_end if committed else self.end

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Sequence[Header] = NO_HEADERS,
        *,
        producer: int = NO_PRODUCER,
    ) -> int:
        offset = self.end
        if producer != NO_PRODUCER:
            self.open.setdefault(producer, offset)
        self._add(Entry(offset, producer, key, value, timestamp, headers))
        return offset

    def mark(self, producer: int, *, committed: bool, timestamp: int) -> None:
        """End a producer's transaction here."""
        first = self.open.pop(producer, None)
        if first is not None and not committed:
            at = bisect_left(self.written, first, key=_offset)
            for entry in self.written[at:]:
                if entry.producer == producer:
                    entry.aborted = True
        self._add(Entry(self.end, producer, None, None, timestamp, is_marker=True))

    def read(self, offset: int, limit: int, *, committed: bool) -> tuple[list[Entry], int]:
        """Records from an offset on, and the offset after what was looked at."""
        end = self.end_for(committed=committed)
        at = bisect_left(self.entries, offset, key=_offset)
        found: list[Entry] = []
        for entry in self.entries[at:]:
            if entry.offset >= end:
                break
            if entry.is_marker or (committed and entry.aborted):
                continue
            if len(found) == limit:
                return found, found[-1].offset + 1
            found.append(entry)
        return found, max(offset, end)

    def offset_at(self, timestamp: int, *, committed: bool) -> int | None:
        """Of the first record, or marker, that isn't older."""
        end = self.end_for(committed=committed)
        for entry in self.entries:
            if entry.timestamp >= timestamp:
                return entry.offset if entry.offset < end else None
        return None

    def delete_before(self, offset: int) -> None:
        self.start = max(self.start, min(offset, self.end))
        self.entries = self.entries[bisect_left(self.entries, self.start, key=_offset) :]

    def compact(self, now: float, tombstones_last_s: float) -> None:
        """Keep the last record of each key. A tombstone stays for a while after it was first seen,
        so that readers on their way hear of it."""
        stable = self.stable_end
        last = {
            entry.key: entry.offset
            for entry in self.entries
            if entry.offset < stable and not entry.is_marker and not entry.aborted
        }
        kept = []
        for entry in self.entries:
            if entry.offset >= stable:
                kept.append(entry)
            elif not entry.is_marker and last.get(entry.key) == entry.offset:
                if entry.value is None:
                    if entry.swept_at is None:
                        entry.swept_at = now
                    if now - entry.swept_at >= tombstones_last_s:
                        continue
                kept.append(entry)
        self.entries = kept

    def committed(self) -> Iterable[Entry]:
        """Everything that was ever committed here, also what was compacted or deleted since."""
        stable = self.stable_end
        return (
            entry
            for entry in self.written
            if entry.offset < stable and not entry.is_marker and not entry.aborted
        )

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.written.append(entry)
        self.end += 1


def _offset(entry: Entry) -> int:
    return entry.offset
