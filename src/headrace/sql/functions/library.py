"""Collects functions: a decorator for each overload, then all of them by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.function import Call, Function, Kind, Overload, Returns
from headrace.sql.functions.notation import signature

F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=Callable[[Call], Aggregate])


class Library:
    """Functions of one category."""

    def __init__(self, category: str) -> None:
        self._category = category
        self._functions: dict[str, Function] = {}

    def scalar(
        self,
        name: str,
        *signatures: str,
        strict: bool = True,
        bound: bool = False,
        returns: Returns | None = None,
    ) -> Callable[[F], F]:
        """The decorated function is `name` for these signatures. Its docstring's first line, if
        it has one, describes it."""
        return self._collect(Kind.SCALAR, name, signatures, strict, bound, returns)

    def table(
        self, name: str, *signatures: str, returns: Returns | None = None
    ) -> Callable[[F], F]:
        """As `scalar`, for a function that gives the values of rows."""
        return self._collect(Kind.TABLE, name, signatures, True, False, returns)

    def aggregate(self, name: str, *signatures: str) -> Callable[[A], A]:
        """The decorated function makes the Aggregate for a call."""
        return self._collect(Kind.AGGREGATE, name, signatures, False, True, None)

    def _collect(
        self,
        kind: Kind,
        name: str,
        signatures: tuple[str, ...],
        strict: bool,
        bound: bool,
        returns: Returns | None,
    ) -> Callable[[F], F]:
        def collect(implementation: F) -> F:
            overloads = tuple(
                Overload(signature(text), implementation, strict, bound, returns)
                for text in signatures
            )
            known = self._functions.get(name)
            if known is None:
                description = (implementation.__doc__ or "").strip()
                known = Function(name, kind, self._category, description, ())
            self._functions[name] = replace(known, overloads=known.overloads + overloads)
            return implementation

        return collect

    def __iter__(self) -> Iterator[Function]:
        return iter(self._functions.values())
