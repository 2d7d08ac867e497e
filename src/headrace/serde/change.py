"""Changes of a table on the repartition topic of a `KTable.group_by`.

The last byte says what is before it:
00 / 01   the old value / the new value alone
02        varint length of the new value ‖ new value ‖ old value
03 to 05  the same three, and then one byte: whether the update is the latest of its key.
          Read, but not written: some versions of Kafka Streams did.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.core.errors import SerializationError
from headrace.core.record import Change
from headrace.serde.reader import Reader, varint
from headrace.serde.serde import Serde


def change(inner: Serde[Any]) -> Serde[Change]:
    return Serde(partial(_write, inner.serialize), partial(_read, inner.deserialize))


def _write(serialize: Callable[[Any], bytes], change: Change) -> bytes:
    new, old, _ = change
    if new is None:
        if old is None:
            raise SerializationError("A change needs an old or a new value, both are None")
        return serialize(old) + b"\x00"
    data = serialize(new)
    if old is None:
        return data + b"\x01"
    return varint(len(data)) + data + serialize(old) + b"\x02"


def _read(deserialize: Callable[[bytes], Any], data: bytes) -> Change:
    layout = data[-1] if data else -1
    if 0 <= layout <= 2:
        return _halves(deserialize, layout, data[:-1], True)
    if 3 <= layout <= 5 and len(data) > 1 and data[-2] <= 1:
        return _halves(deserialize, layout - 3, data[:-2], data[-2] == 1)
    raise SerializationError(f"Not a change of a table: unknown layout in {data[-50:]!r}")


def _halves(
    deserialize: Callable[[bytes], Any], layout: int, data: bytes, is_latest: bool
) -> Change:
    if layout == 0:
        return Change(None, deserialize(data), is_latest)
    if layout == 1:
        return Change(deserialize(data), None, is_latest)
    reader = Reader(data)
    new = reader.take(reader.varint())
    return Change(deserialize(new), deserialize(reader.rest()), is_latest)
