"""Keys and values of stores as JSON."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import orjson

_OPTIONS = orjson.OPT_NON_STR_KEYS


def to_json(value: Any) -> bytes:
    """Whatever the value is: bytes are base64, named tuples, dataclasses and pydantic models are
    objects, decimals and integers beyond 64 bits are text, NaN is null, and what JSON can't say in
    any way is its text."""
    try:
        return orjson.dumps(value, _plain, _OPTIONS)
    except TypeError:
        # orjson doesn't ask about big numbers, lone surrogates and odd keys of dicts.
        return orjson.dumps(_all_plain(value))


def _plain(value: Any) -> Any:
    """What orjson doesn't know itself."""
    match value:
        case bytes() | bytearray() | memoryview():
            return b64encode(value).decode()
        case tuple() if hasattr(value, "_asdict"):
            return value._asdict()
        case set() | frozenset() | tuple():
            return list(value)
        case Mapping():
            return dict(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return str(value)


def _all_plain(value: Any) -> Any:
    match value:
        case None | bool() | float():
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else str(value)
        case str():
            return value.encode("utf-8", "replace").decode()
        case Mapping():
            return {_name(key): _all_plain(item) for key, item in value.items()}
        case list():
            return [*map(_all_plain, value)]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _all_plain(getattr(value, field.name)) for field in fields(value)}
    plain = _plain(value)
    return _all_plain(plain if isinstance(plain, Mapping | list) else str(plain))


def _name(key: Any) -> str:
    """A key of a JSON object."""
    plain = key if isinstance(key, str) else _plain(key)
    if isinstance(plain, Iterable) and not isinstance(plain, str):
        plain = orjson.dumps(_all_plain(plain)).decode()
    return str(plain).encode("utf-8", "replace").decode()
