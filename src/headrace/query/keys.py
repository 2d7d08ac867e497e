"""Keys as people write them: text, JSON or base64."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable
from typing import Any, Literal, get_args
from uuid import UUID

import orjson

from headrace.core.errors import ArgumentError
from headrace.serde import primitive
from headrace.serde.json import is_json
from headrace.serde.serde import Serde

Encoding = Literal["text", "json", "base64"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


_READERS: dict[Any, tuple[str, Callable[[str], Any]]] = {
    primitive.bytes_().deserialize: ("text", str.encode),
    primitive.short().deserialize: ("a whole number", int),
    primitive.integer().deserialize: ("a whole number", int),
    primitive.long().deserialize: ("a whole number", int),
    primitive.float_().deserialize: ("a number", float),
    primitive.double().deserialize: ("a number", float),
    primitive.uuid().deserialize: ("a UUID", UUID),
    primitive.boolean().deserialize: ("true or false", _boolean),
}
"""What text is to serdes whose keys aren't text, by how they read bytes."""


def usual_encoding(serde: Serde[Any]) -> Encoding:
    """How keys of a serde are written if nothing is said."""
    if is_json(serde):
        return "json"
    return "base64" if serde.deserialize is bytes.__bytes__ else "text"


def read_key(text: str, serde: Serde[Any], encoding: Encoding | None = None) -> Any:
    """The key that a text stands for. ArgumentError if it stands for none.

    As `text`, it is the key itself, or the number, UUID … that is written there. As `json`, it is
    a JSON value. As `base64`, it is the bytes that the serde makes of the key. Without an encoding
    it is what is usual for the serde, and what isn't JSON is text to a JSON serde.
    """
    try:
        match encoding or usual_encoding(serde):
            case "base64":
                key = serde.deserialize(read_bytes(text, "base64"))
            case "json" if is_json(serde):
                key = _read_json(text, serde, lenient=encoding is None)
            case "json":
                key = orjson.loads(text)
            case _:
                key = _read_text(text, serde)
        serde.serialize(key)
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"{_short(text)} can't be a key here: {error}. Is the encoding right?"
        ) from error
    return key


def read_bytes(text: str, encoding: Encoding | None) -> bytes:
    """The beginning of a key's bytes, for prefixes: base64, or else text in UTF-8."""
    if encoding != "base64":
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{_short(text)} isn't text: {error.reason}.") from None
    try:
        # Both alphabets: + and / have other meanings in URLs.
        return b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ArgumentError(f"{_short(text)} isn't base64: {error}.") from None


def _read_text(text: str, serde: Serde[Any]) -> Any:
    wanted, read = _READERS.get(serde.deserialize, ("text", str))
    try:
        return read(text)
    except ValueError:
        raise ArgumentError(
            f"Keys of this store are written as {wanted}, not {_short(text)}."
        ) from None


def _read_json(text: str, serde: Serde[Any], *, lenient: bool) -> Any:
    try:
        return serde.deserialize(text.encode())
    except ValueError:
        if not lenient:
            raise
    return serde.deserialize(orjson.dumps(text))


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "…")
