"""What a serde is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from headrace.core.arguments import shown
from headrace.core.errors import ArgumentError

T = TypeVar("T")


@dataclass(frozen=True)  # without slots, so that Serde[str](…) can be written
class Serde(Generic[T]):
    """Two functions: value to bytes, and bytes to value.

    Neither is ever called with None: a null key or value has no bytes. A value or bytes that
    can't be handled may raise anything; the runtime adds where it happened.

    >>> upper = Serde(lambda text: text.upper().encode(), lambda data: data.decode().lower())
    """

    serialize: Callable[[T], bytes]
    deserialize: Callable[[bytes], T]
    immutable: bool = field(default=False, kw_only=True)
    """Nobody changes a value once it is made, nor anything in it: a cache may hand out the same one
    again, rather than read its bytes. For numbers, text and bytes that needn't be said."""
    check: Callable[[bytes], Any] | None = field(default=None, kw_only=True)
    """In the place of `deserialize` where nobody looks at values, but for None: raises the same
    errors, and may give anything else for a value."""


def check_serde(serde: Any, what: str) -> None:
    """Raise ArgumentError if `serde` isn't one; `what` names it."""
    if hasattr(serde, "serialize") and hasattr(serde, "deserialize"):
        return
    name = getattr(serde, "__name__", "")
    hint = "Use one of headrace.serdes, as serdes.string(), or make a Serde of two functions."
    if getattr(serde, "__module__", "").startswith("headrace."):
        hint = f"Call it: serdes.{name}()."
    raise ArgumentError(f"{what} must be a Serde, not {shown(serde)}. {hint}")


@dataclass(frozen=True, slots=True)
class DerivedSerde:
    """A serde made of others that may be the configured defaults, which are known only at run time.

    `make(*parts)` is called with the resolved parts. A part that is None stands for the default
    key serde if its role in `roles` is "key", else for the default value serde.
    """

    make: Callable[..., Serde[Any]]
    parts: tuple[SerdeLike, ...]
    roles: tuple[str, ...]


SerdeLike: TypeAlias = "Serde[Any] | DerivedSerde | None"
"""A serde, one to be derived, or None: the default serde of the configuration."""
