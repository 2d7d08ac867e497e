"""Serdes by name, and values in their JSON form (part 3 of the README)."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import cache
from typing import Any
from uuid import UUID

from headrace import Serde, serdes
from headrace.core.errors import SerializationError
from headrace.core.windowed import Window, Windowed
from headrace.serde.windowed import time_windowed

from .text import canonical_json


def _parse_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        raise SerializationError("not JSON") from None


JSON: Serde[Any] = Serde(lambda value: canonical_json(value).encode(), _parse_json)
"""A serde of the corpus' own: its bytes are canonical text."""

_SERDES: dict[str, Callable[[], Serde[Any]]] = {
    "string": serdes.string,
    "long": serdes.long,
    "integer": serdes.integer,
    "short": serdes.short,
    "double": serdes.double,
    "float": serdes.float_,
    "boolean": serdes.boolean,
    "uuid": serdes.uuid,
    "bytes": serdes.bytes_,
}


@cache
def serde(name: str) -> Serde[Any]:
    kind, *parts = name.split(":")
    match kind:
        case "json":
            return JSON
        case "time_windowed":
            # In milliseconds: the size of an unlimited window is more than a timedelta can be.
            return time_windowed(serde(parts[0]), int(parts[1]))
        case "session_windowed":
            return serdes.session_windowed(serde(parts[0]))
    return _SERDES[kind]()


def encode(name: str | None, form: Any) -> bytes | None:
    """The bytes of a value that is given in its JSON form."""
    if form is None:
        return None
    return serde(name or "string").serialize(_from_json(name or "string", form))


def decode(name: str | None, data: bytes | None) -> Any:
    """The JSON form of a value that is given in bytes."""
    return None if data is None else to_json(serde(name or "string").deserialize(data))


def _from_json(name: str, form: Any) -> Any:
    match name.split(":")[0]:
        case "bytes":
            return b64decode(form["b64"])
        case "uuid":
            return UUID(form)
        case "double" | "float":
            return float(form)
        case "time_windowed" | "session_windowed":
            return Windowed(form["key"], Window(form["start"], form["end"]))
    return form


def to_json(value: Any) -> Any:
    """The JSON form of any value."""
    match value:
        case bytes():
            return {"b64": b64encode(value).decode()}
        case UUID():
            return str(value)
        case Windowed(key, window):
            return {"key": to_json(key), "start": window.start, "end": window.end}
    return value
