"""Every byte against what Kafka's own serdes and partitioner made."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headrace import serdes
from headrace.core.errors import ArgumentError, SerializationError
from headrace.core.record import Change, ValueAndTimestamp
from headrace.core.windowed import Window, Windowed
from headrace.serde.change import change
from headrace.serde.foreign_key import (
    CombinedKey,
    Instruction,
    Subscription,
    SubscriptionResponse,
    combined_key,
    subscription,
    subscription_response,
)
from headrace.serde.murmur2 import murmur2, partition_for
from headrace.serde.murmur3 import murmur3
from headrace.serde.outer_join import (
    OuterJoinKey,
    OuterJoinValue,
    outer_join_key,
    outer_join_value,
)
from headrace.serde.serde import Serde
from headrace.serde.session_store_key import read_session_store_key, session_store_key
from headrace.serde.value_and_timestamp import value_and_timestamp
from headrace.serde.versioned import SegmentRow, Version, read_segment_row, write_segment_row
from headrace.serde.window_store_key import read_window_store_key, window_store_key
from headrace.serdes import Serde as PublicSerde

CORPUS = Path(__file__).parent.parent / "conformance" / "corpus"
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    loaded: list[Row] = json.loads(gzip.decompress((CORPUS / name).read_bytes()))
    return loaded


VECTORS = rows("serde-vectors.json.gz")
PLAIN: dict[str, Callable[[], Serde[Any]]] = {
    "string": serdes.string,
    "bytes": serdes.bytes_,
    "short": serdes.short,
    "integer": serdes.integer,
    "long": serdes.long,
    "float": serdes.float_,
    "double": serdes.double,
    "boolean": serdes.boolean,
    "uuid": serdes.uuid,
    "void": serdes.void,
    "json": serdes.json,
}
STRING = serdes.string()


def hash_of(text: str | None) -> bytes | None:
    return None if text is None else murmur3(text.encode())


def windowed(value: Row) -> Windowed[Any]:
    return Windowed(value["key"], Window(value["start"], value["end"]))


def plain(name: str, value: Any) -> Any:
    match name:
        case "uuid":
            return UUID(value)
        case "bytes":
            return base64.b64decode(value["b64"])
        case _:
            return value


def subject(name: str, value: Any) -> tuple[Serde[Any], Any]:
    """The serde of a row, and its value as Python has it."""
    kind, _, inner = name.partition(":")
    match kind:
        case "list":
            return serdes.list_(PLAIN[inner]()), value
        case "time_windowed":
            key, size = inner.split(":")
            size_of_window = timedelta(milliseconds=int(size))
            return serdes.time_windowed(PLAIN[key](), size_of_window), windowed(value)
        case "session_windowed":
            return serdes.session_windowed(PLAIN[inner]()), windowed(value)
        case "session_store_key":
            encoded = Windowed(value["key"].encode(), windowed(value).window)
            return Serde(
                lambda key: session_store_key(key.key, *key.window), read_session_store_key
            ), encoded
        case "window_store_key(seq=0)" | "window_store_key(seq=7)":
            sequence = int(kind[-2])
            entry = (value["key"].encode(), value["start"], sequence)
            return Serde(lambda key: window_store_key(*key), read_window_store_key), entry
        case "changed":
            return change(PLAIN[inner]()), Change(value["new"], value["old"])
        case "value_and_timestamp":
            return value_and_timestamp(PLAIN[inner]()), ValueAndTimestamp(**value)
        case "outer_join_key":
            is_left = value["side"] == "left"
            return outer_join_key(STRING), OuterJoinKey(value["timestamp"], is_left, value["key"])
        case "outer_join_value":
            ((side, joined),) = value.items()
            serde = outer_join_value(STRING, serdes.long())
            return serde, OuterJoinValue(side == "left", joined)
        case "fk_combined_key":
            return combined_key(STRING, STRING), CombinedKey(**value)
        case "fk_subscription":
            return subscription(STRING), Subscription(
                hash_of(value["left_value"]),
                Instruction[value["instruction"]],
                value["primary_key"],
                1,
                value["primary_partition"],
            )
        case "fk_response":
            return subscription_response(STRING), SubscriptionResponse(
                hash_of(value["left_value"]), value["right_value"]
            )
        case "versioned_segment_value(one record)":
            data = None if value["value"] is None else value["value"].encode()
            row = SegmentRow(value["valid_to"], [Version(value["valid_from"], data)])
            return Serde(write_segment_row, read_segment_row), row
        case _:
            return PLAIN[kind](), plain(kind, value)


def written(row: Row) -> bool:
    """Whether the row is of a value that has bytes; null never reaches a serde."""
    return row.get("hex") is not None and row["serde"] != "murmur3_128"


def test_all_rows_are_looked_at() -> None:
    nulls = [row for row in VECTORS if "hex" in row and row["hex"] is None]
    assert all(row["value"] is None for row in nulls)
    assert PublicSerde is Serde
    looked_at = sum(
        (len([row for row in VECTORS if kind(row)]))
        for kind in (written, lambda row: "bad_hex" in row)
    )
    hashes = sum(row["serde"] == "murmur3_128" for row in VECTORS)
    assert looked_at + hashes + len(nulls) == len(VECTORS)


@pytest.mark.parametrize(
    "row", [row for row in VECTORS if written(row)], ids=lambda row: row["serde"]
)
def test_bytes_are_kafkas(row: Row) -> None:
    serde, value = subject(row["serde"], row["value"])
    data = bytes.fromhex(row["hex"])
    assert serde.serialize(value) == data
    assert serde.deserialize(data) == value


@pytest.mark.parametrize(
    "row", [row for row in VECTORS if "bad_hex" in row], ids=lambda row: row["serde"]
)
def test_odd_bytes(row: Row) -> None:
    serde = PLAIN[row["serde"]]()
    data = bytes.fromhex(row["bad_hex"])
    if "error" not in row:
        assert serde.deserialize(data) == row["value"]
        return
    kinds: dict[str, type[Exception]] = {
        "SerializationException": SerializationError,
        "IllegalArgumentException": ArgumentError,
    }
    with pytest.raises(kinds[row["error"]]):
        serde.deserialize(data)


@pytest.mark.parametrize("row", [row for row in VECTORS if row["serde"] == "murmur3_128"])
def test_murmur3(row: Row) -> None:
    assert murmur3(row["value"].encode()).hex() == row["hex"]


@pytest.mark.parametrize("row", rows("partitioner-vectors.json.gz"), ids=lambda row: row["key_hex"])
def test_partitioner(row: Row) -> None:
    key = bytes.fromhex(row["key_hex"])
    assert murmur2(key) == row["murmur2"] % 2**32
    for count, partition in row["partitions"].items():
        assert partition_for(key, int(count)) == partition
