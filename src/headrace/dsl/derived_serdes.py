"""Serdes of internal topics and results, made of serdes that may be the configured defaults."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.serde.change import change
from headrace.serde.foreign_key import combined_key, subscription, subscription_response
from headrace.serde.serde import DerivedSerde, Serde, SerdeLike
from headrace.serde.windowed import session_windowed, time_windowed


def _derive(make: Callable[..., Serde[Any]], part: SerdeLike, role: str) -> SerdeLike:
    return make(part) if isinstance(part, Serde) else DerivedSerde(make, (part,), (role,))


def time_windowed_key(key: SerdeLike, size_ms: int) -> SerdeLike:
    """None for a key serde that isn't known: that of its windowed key must be given, too."""
    make = partial(time_windowed, size_ms=size_ms)
    return None if key is None else _derive(make, key, "key")


def session_windowed_key(key: SerdeLike) -> SerdeLike:
    """None for a key serde that isn't known: that of its windowed key must be given, too."""
    return None if key is None else _derive(session_windowed, key, "key")


def table_change(value: SerdeLike) -> SerdeLike:
    return _derive(change, value, "value")


def subscription_of(primary_key: SerdeLike) -> SerdeLike:
    return _derive(subscription, primary_key, "key")


def response_of(foreign_value: SerdeLike) -> SerdeLike:
    return _derive(subscription_response, foreign_value, "value")


def combined_key_of(foreign_key: SerdeLike, primary_key: SerdeLike) -> SerdeLike:
    return DerivedSerde(combined_key, (foreign_key, primary_key), ("key", "key"))
