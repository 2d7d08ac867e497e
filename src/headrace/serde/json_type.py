"""Plain JSON values into the types that a program declares."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache, partial
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints, is_typeddict
from uuid import UUID

from headrace.core.errors import ArgumentError, SerializationError

Decode = Callable[[Any], Any]


@cache
def decoder(target: Any) -> Decode:
    """A function that makes a `target` of a plain value, or raises SerializationError.

    A target may be a dataclass, a pydantic model, a type of plain values, an enum, a UUID, a
    Decimal, a date or time, or a list, tuple, dict, union or literal of these. Anything else
    raises ArgumentError at once. A float accepts whole numbers; nothing else is converted.
    """
    if target is Any or target is object:
        return _same
    if target is None:
        target = type(None)
    if isinstance(target, NewType):
        return decoder(target.__supertype__)
    if get_origin(target) is not None:
        return _generic_decoder(get_origin(target), get_args(target))
    if is_typeddict(target):
        return partial(_plain, dict)
    if not isinstance(target, type):
        raise unsupported(target)
    return _class_decoder(target)


def _class_decoder(target: type) -> Decode:
    if hasattr(target, "model_validate"):
        return partial(_made_by, target.model_validate, target)
    if dataclasses.is_dataclass(target):
        return partial(_dataclass, target)
    if target is float:
        return _float
    if target in (str, int, bool, type(None), list, dict):
        return partial(_plain, target)
    if target is tuple:
        return partial(_collection, tuple, _same)
    if target is Decimal:
        return partial(_made_by, _decimal, target)
    if issubclass(target, Enum) or target is UUID:
        return partial(_made_by, target, target)
    if target in (datetime, date, time):
        return partial(_made_by, target.fromisoformat, target)
    raise unsupported(target)


def _generic_decoder(origin: Any, arguments: tuple[Any, ...]) -> Decode:
    if origin is Literal:
        return partial(_literal, arguments)
    if origin in (Union, types.UnionType):
        return partial(_union, tuple(decoder(argument) for argument in arguments))
    if origin is tuple and arguments[-1:] != (...,):
        return partial(_tuple, tuple(decoder(argument) for argument in arguments))
    if origin in (list, Sequence, tuple):
        return partial(_collection, tuple if origin is tuple else list, decoder(arguments[0]))
    if origin in (dict, Mapping) and arguments[0] is str:
        return partial(_dict, decoder(arguments[1]))
    raise unsupported(origin[arguments])


def unsupported(target: object) -> ArgumentError:
    return ArgumentError(
        f"json() can't decode into {target!r}. Use a dataclass, a pydantic model, a type of plain "
        "JSON values, or your own Serde."
    )


def _same(value: Any) -> Any:
    return value


def _plain(target: type, value: Any) -> Any:
    # The exact type, because a bool is an int to isinstance.
    if type(value) is not target:
        raise _mismatch(target, value)
    return value


def _float(value: Any) -> float:
    if type(value) not in (float, int):
        raise _mismatch(float, value)
    return float(value)


def _decimal(value: Any) -> Decimal:
    # Through text, so that 0.1 stays 0.1.
    return Decimal(str(value))


def _made_by(make: Decode, target: type, value: Any) -> Any:
    try:
        return make(value)
    except (ValueError, TypeError, AttributeError, InvalidOperation) as reason:
        raise SerializationError(f"{_mismatch(target, value)} ({reason})") from reason


def _literal(allowed: tuple[Any, ...], value: Any) -> Any:
    if value not in allowed:
        raise SerializationError(f"expected one of {allowed}, got {value!r}")
    return value


def _union(options: tuple[Decode, ...], value: Any) -> Any:
    reasons = []
    for decode in options:
        try:
            return decode(value)
        except SerializationError as reason:
            reasons.append(str(reason))
    raise SerializationError("; ".join(reasons))


def _collection(target: Callable[[Any], Any], decode: Decode, value: Any) -> Any:
    return target(map(decode, _plain(list, value)))


def _tuple(decoders: tuple[Decode, ...], value: Any) -> Any:
    if len(_plain(list, value)) != len(decoders):
        raise SerializationError(f"expected {len(decoders)} entries, got {len(value)}")
    return tuple(decode(entry) for decode, entry in zip(decoders, value, strict=True))


def _dict(decode: Decode, value: Any) -> Any:
    return {key: decode(entry) for key, entry in _plain(dict, value).items()}


def _dataclass(target: type, value: Any) -> Any:
    arguments = {}
    _plain(dict, value)
    for name, decode, required in _fields(target):
        if name in value:
            try:
                arguments[name] = decode(value[name])
            except SerializationError as reason:
                raise SerializationError(f"{target.__name__}.{name}: {reason}") from reason
        elif required:
            raise SerializationError(f"{target.__name__}.{name} is missing")
    return target(**arguments)


@cache
def _fields(target: Any) -> tuple[tuple[str, Decode, bool], ...]:
    hints = get_type_hints(target)
    return tuple(
        (
            field.name,
            decoder(hints[field.name]),
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(target)
        if field.init
    )


def _mismatch(target: type, value: Any) -> SerializationError:
    return SerializationError(f"expected {target.__name__}, got {type(value).__name__} {value!r}")
