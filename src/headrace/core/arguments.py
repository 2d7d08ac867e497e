"""Checks of what a user passes, so that a mistake is shown at the call and not deep inside."""

from __future__ import annotations

import inspect
from typing import Any

from headrace.core.errors import ArgumentError, require


def require_function(function: Any, what: str, *arguments: str) -> None:
    """Raise ArgumentError if `function` can't be called with `arguments`, which are named in the
    error; NullArgumentError if it is None. Functions that don't tell their arguments pass."""
    require(function, what)
    if not callable(function):
        raise ArgumentError(f"{what} must be a function, not {shown(function)}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments)
    except TypeError as reason:
        hint = " To get the key as well, wrap it: with_key(function)." * _wants_key(
            signature, arguments
        )
        raise ArgumentError(
            f"{what} is called with ({', '.join(arguments)}), but "
            f"{getattr(function, '__name__', function)} takes {signature}: {reason}.{hint}"
        ) from None


def require_type(value: Any, kind: type | tuple[type, ...], what: str, hint: str) -> None:
    """Raise ArgumentError if `value` isn't of that kind, NullArgumentError if it is None. `hint`
    says what to do."""
    require(value, what)
    if not isinstance(value, kind):
        raise ArgumentError(f"{what} can't be {shown(value)}. {hint}")


def shown(value: Any) -> str:
    """A value with its type, as errors show it."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 80 else text[:77] + '...'}"


def _wants_key(signature: inspect.Signature, arguments: tuple[str, ...]) -> bool:
    """Whether a function of the value alone was given one of key and value."""
    return "key" not in arguments and "value" in arguments and len(signature.parameters) == 2
