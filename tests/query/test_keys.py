"""Keys as people write them."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from headrace import ArgumentError, Serde, serdes
from headrace.query.keys import Encoding, read_bytes, read_key, usual_encoding

ID = UUID("12345678-1234-5678-1234-567812345678")


@dataclass(frozen=True)
class Seat:
    row: int
    name: str


@pytest.mark.parametrize(
    ("serde", "text", "key"),
    [
        (serdes.string(), "alice", "alice"),
        (serdes.string(), "", ""),
        (serdes.string(), "5", "5"),
        (serdes.long(), "-5", -5),
        (serdes.integer(), "5", 5),
        (serdes.short(), "5", 5),
        (serdes.double(), "2.5", 2.5),
        (serdes.boolean(), "true", True),
        (serdes.uuid(), str(ID), ID),
        (serdes.json(), "5", 5),
        (serdes.json(), '"5"', "5"),
        (serdes.json(), "alice", "alice"),
        (serdes.json(), '{"b":1}', {"b": 1}),
        (serdes.json(Seat), '{"name":"a","row":2}', Seat(2, "a")),
        (serdes.bytes_(), b64encode(b"\xff\xfe").decode(), b"\xff\xfe"),
    ],
)
def test_what_is_usual(serde: Serde[Any], text: str, key: Any) -> None:
    assert read_key(text, serde) == key


@pytest.mark.parametrize(
    ("serde", "encoding", "text", "key"),
    [
        (serdes.json(), "text", "5", "5"),
        (serdes.bytes_(), "text", "é", "é".encode()),
        (serdes.string(), "json", '"a\\u0062"', "ab"),
        (serdes.string(), "base64", b64encode(b"alice").decode(), "alice"),
        (serdes.long(), "base64", b64encode(bytes(7) + b"\x09").decode(), 9),
        (serdes.bytes_(), "base64", urlsafe_b64encode(b"\xff\xef\xfe").decode(), b"\xff\xef\xfe"),
        (serdes.list_(serdes.long()), "json", "[1,2]", [1, 2]),
    ],
)
def test_what_is_asked_for(serde: Serde[Any], encoding: Encoding, text: str, key: Any) -> None:
    assert read_key(text, serde, encoding) == key


@pytest.mark.parametrize(
    ("serde", "encoding", "text", "why"),
    [
        (serdes.long(), None, "alice", "written as a whole number, not 'alice'"),
        (serdes.long(), None, "9" * 30, "can't be a key here"),
        (serdes.long(), "base64", "AA==", "reads 8 bytes, got 1"),
        (serdes.uuid(), None, "alice", "written as a UUID"),
        (serdes.boolean(), None, "1", "written as true or false"),
        (serdes.string(), "json", "5", "can't be a key here"),
        (serdes.json(), "json", "alice", "can't be a key here"),
        (serdes.json(Seat), None, "alice", "can't be a key here"),
        (serdes.bytes_(), None, "*", "isn't base64"),
        (serdes.string(), None, "\ud800", "can't be a key here"),
        (serdes.void(), None, "x", "can't be a key here"),
    ],
)
def test_what_cannot_be(serde: Serde[Any], encoding: Encoding | None, text: str, why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        read_key(text, serde, encoding)


def test_usual_encodings() -> None:
    assert usual_encoding(serdes.string()) == "text"
    assert usual_encoding(serdes.json(Seat)) == "json"
    assert usual_encoding(serdes.bytes_()) == "base64"


def test_prefixes_are_bytes() -> None:
    assert read_bytes("é", None) == "é".encode()
    assert read_bytes("_-8=", "base64") == b"\xff\xef"
    with pytest.raises(ArgumentError, match="isn't text"):
        read_bytes("\ud800", "text")
