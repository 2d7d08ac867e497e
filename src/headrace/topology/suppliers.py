"""Suppliers: functions that make a new processor for every task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.errors import ArgumentError, require


def check_supplier(supplier: Callable[[], Any]) -> None:
    """Raise ArgumentError if `supplier` doesn't make a new object at every call: tasks would share
    it. It is called twice, and what it makes is thrown away."""
    require(supplier, "The supplier of a processor")
    if not callable(supplier):
        raise ArgumentError(
            f"The supplier of a processor must be callable, but {supplier!r} is not. "
            "Pass the class of the processor, or a function that makes one."
        )
    one = _made_by(supplier)
    if not callable(getattr(one, "process", None)):
        raise ArgumentError(
            f"The supplier {supplier!r} makes {one!r}, which has no method process(record). "
            "Let it make a Processor or FixedKeyProcessor."
        )
    if one is _made_by(supplier):
        raise ArgumentError(
            f"The supplier {supplier!r} returns the same object at every call. Every task needs a "
            "processor of its own: make a new one in the supplier, or pass the class itself."
        )


def _made_by(supplier: Callable[[], Any]) -> Any:
    try:
        return supplier()
    except TypeError as reason:
        raise ArgumentError(
            f"The supplier {supplier!r} could not make a processor: {reason}. It is called without "
            "arguments: pass the class of the processor, or `lambda: MyProcessor(…)`."
        ) from reason
