"""The order of Java's HashSet, in which Kafka Streams writes the changelog of a suppression."""

from __future__ import annotations

from collections.abc import Iterator

_FIRST_CAPACITY = 16


class JavaHashSet:
    """A set of bytes that is gone through in the order in which Java's HashSet would be."""

    __slots__ = ("_capacity", "_keys")

    def __init__(self) -> None:
        self._keys: dict[bytes, None] = {}
        self._capacity = _FIRST_CAPACITY

    def add(self, key: bytes) -> None:
        self._keys[key] = None
        while len(self._keys) > self._capacity * 3 // 4:
            self._capacity *= 2

    def clear(self) -> None:
        """Forgets the keys, but not the capacity it has grown to."""
        self._keys.clear()

    def __iter__(self) -> Iterator[bytes]:
        if len(self._keys) < 2:
            return iter(self._keys)
        return iter(sorted(self._keys, key=self._bucket))

    def _bucket(self, key: bytes) -> int:
        code = 1
        for byte in key:
            code = (31 * code + (byte if byte < 128 else byte - 256)) & 0xFFFFFFFF
        return (code ^ (code >> 16)) & (self._capacity - 1)
