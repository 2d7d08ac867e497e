"""The store of stream-stream join records that have found no match yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.runtime.stores.environment import Logged, StoreEnvironment
from headrace.runtime.stores.store import Store
from headrace.serde.outer_join import (
    OuterJoinKey,
    OuterJoinValue,
    outer_join_key,
    outer_join_value,
    value_list,
)
from headrace.topology.stores import OuterJoinStoreSpec

_BATCH = 32


class OuterJoinStore(Store):
    """(time, side, key) to a list of values."""

    def __init__(self, spec: OuterJoinStoreSpec, environment: StoreEnvironment) -> None:
        super().__init__(spec, environment)
        resolve = environment.resolve_serde
        key = outer_join_key(resolve(spec.key_serde, "key"))
        value = outer_join_value(
            resolve(spec.value_serde, "value"), resolve(spec.right_value_serde, "value")
        )
        self._serialize_key, self._deserialize_key = key.serialize, key.deserialize
        self._serialize, self._deserialize = value.serialize, value.deserialize
        self._entries = environment.storage.map(spec.name)

    def put(self, key: OuterJoinKey, value: OuterJoinValue | None) -> None:
        """Append to the key's list; None deletes the list."""
        self._put(self._serialize_key(key), value)

    def put_if_absent(self, key: OuterJoinKey, value: OuterJoinValue | None) -> None:
        """As `put`, but only if the key has a list already: the name is Kafka Streams'."""
        raw_key = self._serialize_key(key)
        if self._entries.get(raw_key) is not None:
            self._put(raw_key, value)

    def all(self) -> Iterator[tuple[OuterJoinKey, OuterJoinValue]]:
        """One item for each element of each list, by time, side (right first) and key bytes.

        Entries may be put and deleted while it is gone through.
        """
        low = b""
        while batch := list(self._entries.range(low, None, limit=_BATCH)):
            for raw_key, stored in batch:
                key = self._deserialize_key(raw_key)
                for raw in value_list.deserialize(stored):
                    if raw is not None:
                        yield key, self._deserialize(raw)
            low = batch[-1][0] + b"\0"

    def restore(self, records: Iterable[Logged]) -> None:
        for key, value, _, _ in records:
            if value is None:
                self._entries.delete(key)
            else:
                self._entries.put(key, value)

    def _put(self, raw_key: bytes, value: OuterJoinValue | None) -> None:
        if value is None:
            self._entries.delete(raw_key)
            self._log_plain(raw_key, None)
            return
        before = self._entries.get(raw_key)
        values: list[Any] = [] if before is None else value_list.deserialize(before)
        stored = value_list.serialize([*values, self._serialize(value)])
        self._entries.put(raw_key, stored)
        self._log_plain(raw_key, stored)
