"""Functions that want the key as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

from headrace.core.arguments import require_function
from headrace.core.errors import require

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


@dataclass(frozen=True, slots=True)
class WithKey(Generic[P, R]):
    """A function whose first argument is the key."""

    function: Callable[P, R]


def with_key(function: Callable[P, R]) -> WithKey[P, R]:
    """Mark a mapper, joiner or extractor as one that takes the key first.

    >>> stream.map_values(with_key(lambda key, value: f"{key}: {value}"))

    The key must not be changed: records stay in the partition that it chose.
    """
    require(function, "The function")
    return WithKey(function)


def unwrap(function: Any, what: str, *arguments: str) -> tuple[Callable[..., Any], bool]:
    """The plain function, and whether it takes the key before `arguments`. Raises ArgumentError if
    it can't be called so; `what` names it."""
    if isinstance(function, WithKey):
        require_function(function.function, what, "key", *arguments)
        return function.function, True
    require_function(function, what, *arguments)
    return function, False
