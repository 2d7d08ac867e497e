"""Predicates, mappers, list functions and initializers by name (part 7 of the README)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .text import (
    length,
    long,
    parse_long,
    to_long,
    to_number,
    to_str,
)

Function = Callable[[Any, Any], Any]
"""Of (key, value)."""


class UserException(Exception):
    """What the functions raise that are meant to fail."""


def boom(argument: str) -> UserException:
    return UserException(f"boom: {argument}")


def parsed(spec: str) -> tuple[str, str]:
    name, _, argument = spec.partition(":")
    return name, argument


def field_of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _ints(argument: str) -> list[int]:
    return [int(part) for part in argument.split(",")]


# Predicates


def _non_null(test: Callable[[Any], bool]) -> Function:
    return lambda k, v: v is not None and test(v)


def _value_mod_eq(argument: str) -> Function:
    modulus, remainder = _ints(argument)
    return _non_null(lambda v: to_number(v) % modulus == remainder)


def _field_test(name: str, test: Callable[[Any], bool]) -> Function:
    def predicate(key: Any, value: Any) -> bool:
        field = field_of(value, name)
        return field is not None and test(field)

    return predicate


def _field_eq(argument: str) -> Function:
    name, expected = argument.split(",", 1)
    return _field_test(name, lambda field: to_str(field) == expected)


def _field_gt(argument: str) -> Function:
    name, bound = argument.split(",", 1)
    return _field_test(name, lambda field: bool(to_number(field) > int(bound)))


def _true_unless_fail(argument: str) -> Function:
    check = fail_if(argument)

    def predicate(key: Any, value: Any) -> bool:
        check(key, value)
        return True

    return predicate


_PREDICATES: dict[str, Callable[[str], Function]] = {
    "true": lambda _: lambda k, v: True,
    "false": lambda _: lambda k, v: False,
    "key_null": lambda _: lambda k, v: k is None,
    "key_not_null": lambda _: lambda k, v: k is not None,
    "value_null": lambda _: lambda k, v: v is None,
    "value_not_null": lambda _: lambda k, v: v is not None,
    "key_in": lambda a: lambda k, v: k is not None and to_str(k) in a.split(","),
    "value_in": lambda a: _non_null(lambda v: to_str(v) in a.split(",")),
    "value_len_gt": lambda a: _non_null(lambda v: length(to_str(v)) > int(a)),
    "value_contains": lambda a: _non_null(lambda v: a in to_str(v)),
    "value_starts_with": lambda a: _non_null(lambda v: to_str(v).startswith(a)),
    "value_gt": lambda a: _non_null(lambda v: bool(to_number(v) > int(a))),
    "value_mod_eq": _value_mod_eq,
    "field_eq": _field_eq,
    "field_gt": _field_gt,
    "true_unless_fail": _true_unless_fail,
}


def predicate(spec: str | None) -> Function | None:
    if spec is None:
        return None
    name, argument = parsed(spec)
    return _PREDICATES[name](argument)


# Mappers


def _of_value(convert: Callable[[Any], Any]) -> Function:
    """Null stays null."""
    return lambda k, v: None if v is None else convert(v)


def _of_key(convert: Callable[[Any], Any]) -> Function:
    return lambda k, v: None if k is None else convert(k)


def fail_if(argument: str) -> Function:
    def function(key: Any, value: Any) -> Any:
        if value is not None and to_str(value) == argument:
            raise boom(argument)
        return value

    return function


def _part(text: str, index: str) -> str | None:
    parts = text.split("|")
    return (parts[int(index)] or None) if int(index) < len(parts) else None


def _json_pick(argument: str) -> Function:
    names = argument.split(",")
    return _of_value(lambda v: {name: v[name] for name in names if name in v})


def _json_mask(name: str) -> Function:
    def masked(value: dict[str, Any]) -> dict[str, Any]:
        if value.get(name) is None:
            return value
        return {**value, name: "xxxx-xxxx-xxxx-" + to_str(value[name])[-4:]}

    return _of_value(masked)


def _json_product(argument: str) -> Function:
    out, a, b = argument.split(",")
    return _of_value(lambda v: {**v, out: long(to_long(v.get(a)) * to_long(v.get(b)))})


def _json_set(argument: str) -> Function:
    name, text = argument.split(",", 1)
    return _of_value(lambda v: {**v, name: text})


def _top_format(argument: str) -> Function:
    count, a, b = argument.split(",")

    def formatted(value: Any) -> str:
        items = (field_of(value, "items") or [])[: int(count)]
        return " ".join(
            f"{i}){to_str(item.get(a))}:{to_str(item.get(b))}" for i, item in enumerate(items, 1)
        )

    return _of_value(formatted)


_MAPPERS: dict[str, Callable[[str], Function]] = {
    "identity": lambda _: lambda k, v: v,
    "key": lambda _: lambda k, v: k,
    "const": lambda a: lambda k, v: a,
    "const_long": lambda a: lambda k, v: int(a),
    "const_null": lambda _: lambda k, v: None,
    "upper": lambda _: _of_value(lambda v: to_str(v).upper()),
    "lower": lambda _: _of_value(lambda v: to_str(v).lower()),
    "append": lambda a: _of_value(lambda v: to_str(v) + a),
    "prepend": lambda a: _of_value(lambda v: a + to_str(v)),
    "append_str": lambda a: lambda k, v: to_str(v) + a,
    "str": lambda _: lambda k, v: to_str(v),
    "to_string": lambda _: _of_value(to_str),
    "length": lambda _: _of_value(lambda v: length(to_str(v))),
    "parse_long": lambda _: _of_value(lambda v: parse_long(to_str(v))),
    "null_if": lambda a: _of_value(lambda v: None if to_str(v) == a else v),
    "null_to": lambda a: lambda k, v: a if v is None else v,
    "key_and_value": lambda _: lambda k, v: f"{to_str(k)}:{to_str(v)}",
    "key_append": lambda a: _of_key(lambda k: to_str(k) + a),
    "key_string": lambda _: _of_key(to_str),
    "first_char": lambda _: _of_value(lambda v: to_str(v)[:1] or None),
    "part": lambda a: _of_value(lambda v: _part(to_str(v), a)),
    "key_part": lambda a: _of_key(lambda k: _part(to_str(k), a)),
    "add": lambda a: _of_value(lambda v: long(to_long(v) + int(a))),
    "mul": lambda a: _of_value(lambda v: long(to_long(v) * int(a))),
    "mod": lambda a: _of_value(lambda v: to_long(v) % int(a)),
    "to_double": lambda _: _of_value(lambda v: float(to_number(v))),
    "half": lambda _: _of_value(lambda v: to_number(v) / 2.0),
    "fail_if": fail_if,
    "window_key": lambda _: _of_key(lambda k: k.key),
    "window_start": lambda _: _of_key(lambda k: k.window.start),
    "field": lambda a: _of_value(lambda v: field_of(v, a)),
    "json_pick": _json_pick,
    "json_mask": _json_mask,
    "json_product": _json_product,
    "json_set": _json_set,
    "json_set_key": lambda a: lambda k, v: None if v is None else {**v, a: k},
    "json_wrap": lambda a: lambda k, v: {a: v},
    "top_format": _top_format,
}


def mapper(spec: str | list[str] | None) -> Function | None:
    """One function, or a list of them: each gets the key and the result of the one before."""
    if spec is None:
        return None
    if isinstance(spec, str):
        name, argument = parsed(spec)
        return _MAPPERS[name](argument)
    steps = [step for step in map(mapper, spec) if step is not None]

    def composed(key: Any, value: Any) -> Any:
        for step in steps:
            value = step(key, value)
        return value

    return composed


# List functions

_LISTS: dict[str, Callable[[str], Function]] = {
    "words": lambda _: lambda k, v: [] if v is None else [w for w in to_str(v).split(" ") if w],
    "chars": lambda _: lambda k, v: [] if v is None else list(to_str(v)),
    "repeat": lambda a: lambda k, v: [v] * int(a),
    "value_and_null": lambda _: lambda k, v: [v, None],
    "key_then_value": lambda _: lambda k, v: [to_str(k), to_str(v)],
    "empty": lambda _: lambda k, v: [],
    "null_list": lambda _: lambda k, v: None,
}


def list_function(spec: str) -> Function:
    name, argument = parsed(spec)
    return _LISTS[name](argument)


# Initializers

_INITIALIZERS: dict[str, Callable[[str], Callable[[], Any]]] = {
    "empty": lambda _: lambda: "",
    "zero": lambda _: lambda: 0,
    "zero_double": lambda _: lambda: 0.0,
    "null": lambda _: lambda: None,
    "str": lambda a: lambda: a,
    "long": lambda a: lambda: int(a),
    "json": lambda _: dict,
}


def initializer(spec: str) -> Callable[[], Any]:
    name, argument = parsed(spec)
    return _INITIALIZERS[name](argument)
