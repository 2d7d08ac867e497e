"""Versioned key-value stores: keys to values, with their history.

The latest version of a key is kept by itself. An older one is in the segment of the time at which
it was replaced, with the other versions of the key that were replaced in that span of time; a
deletion is a version without value. So a lookup of an old version knows in which segments to look,
and history expires by whole segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import pack, unpack_from
from typing import Any

from headrace.core.errors import NullArgumentError
from headrace.core.record import NO_HEADERS, VersionedRecord
from headrace.core.windowed import LONG_MAX
from headrace.runtime.stores.environment import Logged, StoreEnvironment
from headrace.runtime.stores.ordered_map import OrderedMap
from headrace.runtime.stores.segments import Segments
from headrace.runtime.stores.store import Store
from headrace.serde.versioned import SegmentRow, Version, read_segment_row, write_segment_row
from headrace.topology.stores import VersionedStoreSpec

VALID_TO_UNDEFINED = -1
"""What `put` returns for a version that is the latest."""

NOT_PUT = -(2**63)
"""What `put` returns for a version that is too old to be kept."""

_SEGMENT_INTERVALS = (
    (60_000, 3, 2_000),
    (300_000, 5, 20_000),
    (3_600_000, 12, 60_000),
    (float("inf"), 24, 300_000),
)
"""History up to so many milliseconds, how many segments for it, how long each at least."""


class VersionedKeyValueStore(Store):
    """Keys to values with their validity. A put older than the history is dropped, and counted."""

    def __init__(self, spec: VersionedStoreSpec, environment: StoreEnvironment) -> None:
        super().__init__(spec, environment)
        key_serde = environment.resolve_serde(spec.key_serde, "key")
        value_serde = environment.resolve_serde(spec.value_serde, "value")
        self._serialize_key = key_serde.serialize
        self._serialize, self._deserialize = value_serde.serialize, value_serde.deserialize
        self._history_ms = spec.history_ms
        storage = environment.storage
        self.observed_time = storage.facts(spec.name).get("observed_time", -1)
        self._latest = storage.map(f"{spec.name}/latest")
        interval = spec.segment_ms or default_versioned_segment_interval(spec.history_ms)
        self._segments: Segments[OrderedMap] = Segments(
            spec.name, spec.history_ms, interval, storage, storage.map
        )

    def facts(self) -> dict[str, int]:
        return {"observed_time": self.observed_time}

    def put(self, key: Any, value: Any, timestamp: int) -> int:
        """When the version ends: the timestamp of the next one, VALID_TO_UNDEFINED (-1) if there
        is none, or NOT_PUT."""
        raw_key = self._raw_key(key)
        raw = None if value is None else self._serialize(value)
        valid_to = NOT_PUT
        if not self._dropped(timestamp):
            self.observed_time = max(self.observed_time, timestamp)
            valid_to = self._put(raw_key, raw, timestamp)
        self._log_version(raw_key, raw, timestamp)
        return valid_to

    def delete(self, key: Any, timestamp: int) -> VersionedRecord | None:
        """The version that was valid at `timestamp`, if any."""
        raw_key = self._raw_key(key)
        existing = None
        if not self._dropped(timestamp):
            existing = self._get_as_of(raw_key, timestamp)
            self.observed_time = max(self.observed_time, timestamp)
            self._put(raw_key, None, timestamp)
        self._log_version(raw_key, None, timestamp)
        return existing

    def get(self, key: Any) -> VersionedRecord | None:
        """The latest version, unless it is a deletion."""
        latest = self._latest_of(self._raw_key(key))
        if latest is None:
            return None
        timestamp, raw = latest
        return VersionedRecord(self._deserialize(raw), timestamp)

    def get_as_of(self, key: Any, timestamp: int) -> VersionedRecord | None:
        """The version that was valid at `timestamp`. None if there was none, or if the time is
        before the history. Its `valid_to` is not filled in."""
        return self._get_as_of(self._raw_key(key), timestamp)

    def versions(self, key: Any, first: int, last: int) -> Iterator[VersionedRecord]:
        """The versions that were valid at some time from `first` to `last`, newest first, as far as
        the history goes back. The latest version is there whatever its age."""
        raw_key = self._raw_key(key)
        latest = self._latest_of(raw_key)
        if latest is not None and latest[0] <= last:
            yield VersionedRecord(self._deserialize(latest[1]), latest[0])
        if last < self.observed_time - self._history_ms:
            return
        for _, segment in self._segments.between(first, LONG_MAX, forward=False):
            row = _row_of(segment, raw_key)
            for index, version in enumerate(row.versions if row is not None else ()):
                assert row is not None
                end = _end_of(row, index)
                if version.value is not None and version.timestamp <= last and end > first:
                    yield VersionedRecord(self._deserialize(version.value), version.timestamp, end)

    def restore(self, records: Iterable[Logged]) -> None:
        """Apply records of the changelog."""
        for key, value, timestamp, _ in records:
            time = timestamp or 0
            if time >= self.observed_time - self._history_ms:
                self.observed_time = max(self.observed_time, min(time, self.latest_restored))
                self._put(key, value, time)

    def _raw_key(self, key: Any) -> bytes:
        if key is None:
            raise NullArgumentError(f"A key of store {self.name} can't be None")
        return self._serialize_key(key)

    def _dropped(self, timestamp: int) -> bool:
        if timestamp >= self.observed_time - self._history_ms:
            return False
        self._context.drop(
            f"timestamp {timestamp} is older than the history of store {self.name}, whose time is "
            f"{self.observed_time}"
        )
        return True

    def _log_version(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        if self._log is not None:
            self._log(self.name, key, value, timestamp, NO_HEADERS)

    def _latest_of(self, key: bytes) -> tuple[int, bytes] | None:
        stored = self._latest.get(key)
        return None if stored is None else (unpack_from(">q", stored)[0], stored[8:])

    def _put_latest(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        if value is None:
            self._latest.delete(key)
        else:
            self._latest.put(key, pack(">q", timestamp) + value)

    def _get_as_of(self, key: bytes, timestamp: int) -> VersionedRecord | None:
        latest = self._latest_of(key)
        if latest is not None and latest[0] <= timestamp:
            return VersionedRecord(self._deserialize(latest[1]), latest[0])
        if timestamp < self.observed_time - self._history_ms:
            return None
        for _, segment in self._segments.between(timestamp, LONG_MAX, forward=False):
            row = _row_of(segment, key)
            if row is None:
                continue
            if row.next_timestamp <= timestamp:
                return None
            if row.versions[-1].timestamp <= timestamp:
                version = row.versions[_index_at(row, timestamp)]
                if version.value is None:
                    return None
                return VersionedRecord(self._deserialize(version.value), version.timestamp)
        return None

    # How a version gets where it belongs

    def _put(self, key: bytes, value: bytes | None, timestamp: int) -> int:
        self._segments.expire(self.observed_time)
        latest = self._latest_of(key)
        next_timestamp = None
        if latest is not None:
            if timestamp >= latest[0]:
                self._replace_latest(key, latest, value, timestamp)
                return VALID_TO_UNDEFINED
            next_timestamp = latest[0]
        for number, segment in self._segments.between(timestamp, LONG_MAX, forward=False):
            row = _row_of(segment, key)
            if row is None:
                continue
            if row.next_timestamp <= timestamp:
                break
            first = row.versions[-1].timestamp
            if first <= timestamp:
                return self._put_among(key, value, timestamp, number, segment, row)
            if first < self.observed_time - self._history_ms:
                return NOT_PUT
            next_timestamp = first
        if next_timestamp is None:
            return self._put_first(key, value, timestamp)
        return self._put_before(key, value, timestamp, next_timestamp)

    def _replace_latest(
        self, key: bytes, latest: tuple[int, bytes], value: bytes | None, timestamp: int
    ) -> None:
        if timestamp > latest[0]:
            segment = self._live_segment(timestamp)
            if segment is not None:
                _append(segment, key, Version(*latest), timestamp)
        self._put_latest(key, value, timestamp)

    def _put_among(
        self,
        key: bytes,
        value: bytes | None,
        timestamp: int,
        number: int,
        segment: OrderedMap,
        row: SegmentRow,
    ) -> int:
        """The version falls between those of a row."""
        index = _index_at(row, timestamp)
        before, versions = row.versions[index], list(row.versions)
        valid_to = _end_of(row, index)
        version = Version(timestamp, value)
        if before.timestamp == timestamp:
            versions[index] = version
        elif self._segments.number_of(timestamp) != number:
            # The version before ends at this one now, which is in the time of an older segment.
            older = self._live_segment(timestamp)
            if older is not None:
                _append(older, key, before, timestamp)
            versions[index] = version
        else:
            versions.insert(index, version)
        segment.put(key, write_segment_row(SegmentRow(row.next_timestamp, versions)))
        return valid_to

    def _put_first(self, key: bytes, value: bytes | None, timestamp: int) -> int:
        """No later version is known, and the latest one is a deletion, or there is none."""
        if value is not None:
            self._put_latest(key, value, timestamp)
            return VALID_TO_UNDEFINED
        segment = self._live_segment(timestamp)
        if segment is None:
            return NOT_PUT
        row = _row_of(segment, key)
        if row is None:
            _write_row(segment, key, timestamp, [Version(timestamp, None)])
        elif row.next_timestamp != timestamp:
            _append(segment, key, Version(row.next_timestamp, None), timestamp)
        return VALID_TO_UNDEFINED

    def _put_before(
        self, key: bytes, value: bytes | None, timestamp: int, next_timestamp: int
    ) -> int:
        """The version ends with one that is known, and nothing is known of the time before."""
        segment = self._live_segment(next_timestamp)
        if segment is None:
            return NOT_PUT
        row = _row_of(segment, key)
        version = Version(timestamp, value)
        if row is None or row.next_timestamp <= timestamp:
            _append(segment, key, version, next_timestamp)
        elif _is_degenerate(row):
            _write_row(segment, key, row.next_timestamp, [version])
        else:
            _write_row(segment, key, row.next_timestamp, [*row.versions, version])
        return next_timestamp

    def _live_segment(self, timestamp: int) -> OrderedMap | None:
        number = self._segments.number_of(timestamp)
        return self._segments.make_if_live(number, self.observed_time)


def default_versioned_segment_interval(history_ms: int) -> int:
    """Small enough to expire history in time, large enough that there are few segments."""
    segments, smallest = next(rule[1:] for rule in _SEGMENT_INTERVALS if history_ms <= rule[0])
    return max(history_ms // segments, smallest)


def _row_of(segment: OrderedMap, key: bytes) -> SegmentRow | None:
    stored = segment.get(key)
    return None if stored is None else read_segment_row(stored)


def _write_row(
    segment: OrderedMap, key: bytes, next_timestamp: int, versions: list[Version]
) -> None:
    segment.put(key, write_segment_row(SegmentRow(next_timestamp, versions)))


def _append(segment: OrderedMap, key: bytes, version: Version, valid_to: int) -> None:
    """Add a version that is newer than all of the key's in the segment."""
    row = _row_of(segment, key)
    versions = [version]
    if row is not None:
        known = [] if _is_degenerate(row) else list(row.versions)
        until = row.next_timestamp
        if version.timestamp < until:
            # After a failure, an update may be applied again to what it has changed already.
            known = [old for old in known if old.timestamp < version.timestamp]
            until = version.timestamp
        if until < version.timestamp:
            versions.append(Version(until, None))
        versions += known
    _write_row(segment, key, valid_to, versions)


def _is_degenerate(row: SegmentRow) -> bool:
    """Whether the row only knows of a deletion at `next_timestamp`."""
    return row.next_timestamp == row.versions[-1].timestamp


def _index_at(row: SegmentRow, timestamp: int) -> int:
    """Of the version that was valid at `timestamp`."""
    return next(i for i, version in enumerate(row.versions) if version.timestamp <= timestamp)


def _end_of(row: SegmentRow, index: int) -> int:
    return row.next_timestamp if index == 0 else row.versions[index - 1].timestamp
