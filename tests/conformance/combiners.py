"""Aggregators, reducers, session mergers and joiners by name (part 7 of the README)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .functions import fail_if, field_of, parsed
from .text import length, long, to_long, to_number, to_str, utf16

Aggregator = Callable[[Any, Any, Any], Any]
"""Of (key, value, aggregate); of (key, left, right) in joiners and session mergers."""
Reducer = Callable[[Any, Any], Any]


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
    check = fail_if(argument)
    return lambda k, v, agg: _PLUS(k, check(k, v), agg)


def _sorted_items(items: list[Any], argument: str) -> dict[str, Any]:
    number, text = argument.split(",")
    items.sort(key=lambda item: (-to_long(item.get(number)), utf16(to_str(item.get(text)))))
    return {"items": items}


def _top_add(argument: str) -> Aggregator:
    return lambda k, v, agg: {
        **(agg or {}),
        **_sorted_items([*(field_of(agg, "items") or []), v], argument),
    }


def _top_remove(argument: str) -> Aggregator:
    def aggregate(key: Any, value: Any, aggregate: Any) -> Any:
        items = list(field_of(aggregate, "items") or [])
        if value in items:
            items.remove(value)
        return {**(aggregate or {}), **_sorted_items(items, argument)}

    return aggregate


def _json_stats(name: str) -> Aggregator:
    def aggregate(key: Any, value: Any, aggregate: Any) -> dict[str, Any]:
        number, stats = to_long(field_of(value, name)), aggregate or {}
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
    "sum_field": lambda a: lambda k, v, agg: long(to_long(agg) + to_long(field_of(v, a))),
    "sub_field": lambda a: lambda k, v, agg: long(to_long(agg) - to_long(field_of(v, a))),
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
    name, argument = parsed(spec)
    return _AGGREGATORS[name](argument)


# Reducers


def _fail_or_join(argument: str) -> Reducer:
    check = fail_if(argument)
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
    name, argument = parsed(spec)
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
    name, argument = parsed(spec)
    return _MERGERS[name](argument)


# Joiners


def _dashed(left: Any, right: Any) -> str:
    return f"{to_str(left)}-{to_str(right)}"


def _fail_if_left(argument: str) -> Aggregator:
    check = fail_if(argument)
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
    name, argument = parsed(spec)
    return _JOINERS[name](argument)
