"""The functions that the corpus' topologies name (part 7 of its README)."""

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
    utf16,
)

Function = Callable[[Any, Any], Any]
"""Of (key, value)."""
Aggregator = Callable[[Any, Any, Any], Any]
"""Of (key, value, aggregate); of (key, left, right) in joiners and session mergers."""
Reducer = Callable[[Any, Any], Any]


class UserException(Exception):
    """What the functions raise that are meant to fail."""


def boom(argument: str) -> UserException:
    return UserException(f"boom: {argument}")


def _parsed(spec: str) -> tuple[str, str]:
    name, _, argument = spec.partition(":")
    return name, argument


def _field(value: Any, name: str) -> Any:
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
        field = _field(value, name)
        return field is not None and test(field)

    return predicate


def _field_eq(argument: str) -> Function:
    name, expected = argument.split(",", 1)
    return _field_test(name, lambda field: to_str(field) == expected)


def _field_gt(argument: str) -> Function:
    name, bound = argument.split(",", 1)
    return _field_test(name, lambda field: bool(to_number(field) > int(bound)))


def _true_unless_fail(argument: str) -> Function:
    check = _fail_if(argument)

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
    name, argument = _parsed(spec)
    return _PREDICATES[name](argument)


# Mappers


def _of_value(convert: Callable[[Any], Any]) -> Function:
    """Null stays null."""
    return lambda k, v: None if v is None else convert(v)


def _of_key(convert: Callable[[Any], Any]) -> Function:
    return lambda k, v: None if k is None else convert(k)


def _fail_if(argument: str) -> Function:
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
        items = (_field(value, "items") or [])[: int(count)]
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
    "fail_if": _fail_if,
    "window_key": lambda _: _of_key(lambda k: k.key),
    "window_start": lambda _: _of_key(lambda k: k.window.start),
    "field": lambda a: _of_value(lambda v: _field(v, a)),
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
        name, argument = _parsed(spec)
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
    name, argument = _parsed(spec)
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
    name, argument = _parsed(spec)
    return _INITIALIZERS[name](argument)


# Aggregators


def _concat(separator: str) -> Aggregator:
    return lambda k, v, agg: to_str(v) if agg is None else to_str(agg) + separator + to_str(v)


_PLUS = _concat("+")


def _best(keeps: Callable[[Any, Any], bool]) -> Aggregator:
    """The aggregate where it `keeps` against the value, else the value; nulls are ignored."""

    def aggregate(key: Any, value: Any, aggregate: Any) -> Any:
        if value is None or aggregate is None:
            return value if aggregate is None else aggregate
        return aggregate if keeps(to_number(aggregate), to_number(value)) else value

    return aggregate


def _null_if_len_gt(argument: str) -> Aggregator:
    def aggregate(key: Any, value: Any, aggregate: Any) -> str | None:
        result = str(_PLUS(key, value, aggregate))
        return None if length(result) > int(argument) else result

    return aggregate


def _fail_or_concat(argument: str) -> Aggregator:
    check = _fail_if(argument)
    return lambda k, v, agg: _PLUS(k, check(k, v), agg)


def _sorted_items(items: list[Any], argument: str) -> dict[str, Any]:
    number, text = argument.split(",")
    items.sort(key=lambda item: (-to_long(item.get(number)), utf16(to_str(item.get(text)))))
    return {"items": items}


def _top_add(argument: str) -> Aggregator:
    return lambda k, v, agg: {
        **(agg or {}),
        **_sorted_items([*(_field(agg, "items") or []), v], argument),
    }


def _top_remove(argument: str) -> Aggregator:
    def aggregate(key: Any, value: Any, aggregate: Any) -> Any:
        items = list(_field(aggregate, "items") or [])
        if value in items:
            items.remove(value)
        return {**(aggregate or {}), **_sorted_items(items, argument)}

    return aggregate


def _json_stats(name: str) -> Aggregator:
    def aggregate(key: Any, value: Any, aggregate: Any) -> dict[str, Any]:
        number, stats = to_long(_field(value, name)), aggregate or {}
        return {
            "count": to_long(stats.get("count")) + 1,
            "sum": long(to_long(stats.get("sum")) + number),
            "max": max(number, to_long(stats["max"])) if "max" in stats else number,
        }

    return aggregate


def _double(value: Any) -> float:
    return 0.0 if value is None else float(to_number(value))


_AGGREGATORS: dict[str, Callable[[str], Aggregator]] = {
    "concat": _concat,
    "concat_key": lambda a: lambda k, v, agg: f"{to_str(agg)}{a}{to_str(k)}={to_str(v)}",
    "count": lambda _: lambda k, v, agg: long(to_long(agg) + 1),
    "sum": lambda _: lambda k, v, agg: long(to_long(agg) + to_long(v)),
    "sub": lambda _: lambda k, v, agg: long(to_long(agg) - to_long(v)),
    "sum_double": lambda _: lambda k, v, agg: _double(agg) + _double(v),
    "sum_length": lambda _: (
        lambda k, v, agg: to_long(agg) + (0 if v is None else length(to_str(v)))
    ),
    "sum_field": lambda a: lambda k, v, agg: long(to_long(agg) + to_long(_field(v, a))),
    "sub_field": lambda a: lambda k, v, agg: long(to_long(agg) - to_long(_field(v, a))),
    "max": lambda _: _best(lambda agg, v: bool(agg >= v)),
    "min": lambda _: _best(lambda agg, v: bool(agg <= v)),
    "last": lambda _: lambda k, v, agg: v,
    "first": lambda _: lambda k, v, agg: v if agg is None else agg,
    "null_if": lambda a: lambda k, v, agg: None if to_str(v) == a else _PLUS(k, v, agg),
    "null_if_len_gt": _null_if_len_gt,
    "null": lambda _: lambda k, v, agg: None,
    "fail_if": _fail_or_concat,
    "top_add": _top_add,
    "top_remove": _top_remove,
    "json_stats": _json_stats,
}


def aggregator(spec: str) -> Aggregator:
    name, argument = _parsed(spec)
    return _AGGREGATORS[name](argument)


# Reducers


def _fail_or_join(argument: str) -> Reducer:
    check = _fail_if(argument)
    return lambda a, b: f"{to_str(a)}+{to_str(check(None, b))}"


def _max(a: Any, b: Any) -> Any:
    """Windowed reductions also get null values; they are ignored."""
    if a is None or b is None:
        return b if a is None else a
    return a if to_number(a) >= to_number(b) else b


_REDUCERS: dict[str, Callable[[str], Reducer]] = {
    "concat": lambda s: lambda a, b: to_str(a) + s + to_str(b),
    "sum": lambda _: lambda a, b: long(to_long(a) + to_long(b)),
    "sub": lambda _: lambda a, b: long(to_long(a) - to_long(b)),
    "max": lambda _: _max,
    "last": lambda _: lambda a, b: b,
    "first": lambda _: lambda a, b: a,
    "null_if": lambda x: lambda a, b: None if to_str(b) == x else f"{to_str(a)}+{to_str(b)}",
    "null": lambda _: lambda a, b: None,
    "fail_if": _fail_or_join,
}


def reducer(spec: str) -> Reducer:
    name, argument = _parsed(spec)
    return _REDUCERS[name](argument)


# Session mergers


def _merged_stats(key: Any, a: Any, b: Any) -> dict[str, Any]:
    left, right = a or {}, b or {}
    return {
        "count": to_long(left.get("count")) + to_long(right.get("count")),
        "sum": long(to_long(left.get("sum")) + to_long(right.get("sum"))),
        "max": max(to_long(stats["max"]) for stats in (left, right) if "max" in stats),
    }


_MERGERS: dict[str, Callable[[str], Aggregator]] = {
    "concat": lambda s: lambda k, a, b: to_str(a) + s + to_str(b),
    "sum": lambda _: lambda k, a, b: long(to_long(a) + to_long(b)),
    "max": lambda _: lambda k, a, b: max(to_long(a), to_long(b)),
    "null": lambda _: lambda k, a, b: None,
    "json_stats": lambda _: _merged_stats,
}


def merger(spec: str) -> Aggregator:
    name, argument = _parsed(spec)
    return _MERGERS[name](argument)


# Joiners


def _dashed(left: Any, right: Any) -> str:
    return f"{to_str(left)}-{to_str(right)}"


def _fail_if_left(argument: str) -> Aggregator:
    check = _fail_if(argument)
    return lambda k, l, r: _dashed(check(k, l), r)


_JOINERS: dict[str, Callable[[str], Aggregator]] = {
    "concat": lambda s: lambda k, l, r: to_str(l) + s + to_str(r),
    "concat_key": lambda s: lambda k, l, r: f"{to_str(k)}:{to_str(l)}{s}{to_str(r)}",
    "sum": lambda _: lambda k, l, r: long(to_long(l) + to_long(r)),
    "left": lambda _: lambda k, l, r: l,
    "right": lambda _: lambda k, l, r: r,
    "null_if_left": lambda x: lambda k, l, r: None if to_str(l) == x else _dashed(l, r),
    "null_if_right": lambda x: lambda k, l, r: None if to_str(r) == x else _dashed(l, r),
    "fail_if_left": _fail_if_left,
    "json_put": lambda f: lambda k, l, r: {**(l or {}), f: r},
    "json_pair": lambda _: lambda k, l, r: {"left": l, "right": r},
    "null": lambda _: lambda k, l, r: None,
}


def joiner(spec: str) -> Aggregator:
    """Of (key, left, right)."""
    name, argument = _parsed(spec)
    return _JOINERS[name](argument)
