"""The JSON serde."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from decimal import Decimal
from functools import partial
from types import UnionType
from typing import Any, TypeVar, get_origin, is_typeddict, overload

import msgspec
import orjson

from headrace.core.errors import SerializationError
from headrace.serde.json_type import decoder, unsupported
from headrace.serde.serde import Serde

T = TypeVar("T")


@overload
def json(type: None = None) -> Serde[Any]: ...
@overload
def json(type: type[T]) -> Serde[T]: ...
@overload
def json(type: Any) -> Serde[Any]: ...
def json(type: Any = None) -> Serde[Any]:
    """JSON text in UTF-8, without white space and with the keys of dicts in order, so that equal
    values have equal bytes.

    Without a type, what is read are plain values: dict, list, str, int, float, bool, None. With
    a type (a dataclass, a pydantic model, `list[Order]`, …) that is what is read, and nothing
    else is written. Text that isn't JSON raises a ValueError that says where; what doesn't fit the
    type raises SerializationError.
    NaN and infinity are written as null; integers beyond 64 bits can't be written, and are read
    as floats.
    """
    if type is None:
        # Nothing around what is called for every record: its errors are clear as they are.
        return Serde(_write, orjson.loads, check=_check)
    if not isinstance(type, Hashable):
        raise unsupported(type)
    decoder(type)  # a type that can't be decoded raises here
    read = _read_model if hasattr(type, "model_validate_json") else _read_typed
    return Serde(_writer(type), partial(read, type))


def is_json(serde: Serde[Any]) -> bool:
    """Whether it was made by `json`: its bytes are JSON text."""
    read = serde.deserialize
    return read is orjson.loads or getattr(read, "func", None) in (_read_typed, _read_model)


_skim = msgspec.json.Decoder(msgspec.Raw).decode


def _check(data: bytes) -> Any:
    """That it is JSON. A number may be too large."""
    if data[:1] == b"{" and data.isascii():  # what isn't, may not be UTF-8
        try:
            _skim(data)
        except msgspec.DecodeError:
            return orjson.loads(data)  # which says what is wrong
        return data
    return orjson.loads(data)


def unread(deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """The same for JSON that we have written and whose value nobody looks at, but for None."""
    return _present if deserialize is orjson.loads else deserialize


def _present(data: bytes) -> Any:
    return None if data == b"null" else data


compact = b"".join
"""`compact((b"", orjson.dumps(…)))` copies: what orjson makes takes up 4 KB, however short it is,
and caches and batches have very many of them."""


def _write(value: Any) -> bytes:
    try:
        return compact((b"", orjson.dumps(value, _plain, orjson.OPT_SORT_KEYS)))
    except TypeError as reason:
        raise SerializationError(
            f"{type(value).__name__} can't be written as JSON: {reason.__cause__ or reason}"
        ) from reason


def _read(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except ValueError as reason:
        raise SerializationError(f"Not JSON ({reason}): {data[:50]!r}") from reason


def _writer(target: Any) -> Callable[[Any], bytes]:
    """Writes values of `target` alone, as far as isinstance can tell."""
    kind = dict if is_typeddict(target) else get_origin(target) or target
    if kind is Any or not isinstance(kind, type) or kind is UnionType:
        return _write
    return partial(_write_typed, kind)


def _write_typed(target: Any, value: Any) -> bytes:
    if not isinstance(value, target):
        raise SerializationError(
            f"The serde of {target.__name__} can't write {type(value).__name__} {value!r}"
        )
    return _write(value)


def _read_typed(target: Any, data: bytes) -> Any:
    value = _read(data)
    try:
        return decoder(target)(value)
    except SerializationError as reason:
        raise SerializationError(f"JSON that doesn't fit: {reason}") from reason


def _read_model(model: Any, data: bytes) -> Any:
    try:
        return model.model_validate_json(data)
    except ValueError as reason:
        raise SerializationError(f"JSON that doesn't fit: {reason}") from reason


def _plain(value: Any) -> Any:
    """What orjson doesn't know itself."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} isn't a JSON type")
