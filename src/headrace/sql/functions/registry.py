"""Functions by name, and the overload that a call means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from headrace.core.errors import ArgumentError
from headrace.sql.functions.aggregate import Aggregate
from headrace.sql.functions.errors import FunctionError
from headrace.sql.functions.function import Call, Function, Kind, Overload
from headrace.sql.functions.parameter_types import Argument
from headrace.sql.functions.signature import Match
from headrace.sql.types import SqlType


@dataclass(frozen=True)
class ScalarCall:
    """The overload that a call of a scalar function, or a table function, means."""

    type: SqlType | None
    """Of the result; of a table function, of the column that its rows are."""
    match: Match
    """What each argument must be cast to."""
    function: Callable[..., Any]
    strict: bool


@dataclass(frozen=True)
class AggregateCall:
    """The overload that a call of an aggregate function means."""

    match: Match
    """Tells which arguments are literals: these are no arguments of `add`."""
    make: Callable[[tuple[Any, ...]], Aggregate]
    """The Aggregate, given the values of its literals."""


class FunctionRegistry:
    """Functions by name, in any case."""

    def __init__(self, functions: Iterable[Function] = ()) -> None:
        self._functions: dict[str, Function] = {}
        for function in functions:
            self.register(function)

    def register(self, function: Function) -> None:
        """Adds a function, or overloads to the one of its name. Of overloads that take the same,
        the newer one counts."""
        known = self._functions.get(function.name.upper())
        if known is not None:
            if known.kind is not function.kind:
                raise ArgumentError(
                    f"{function.name} can't be a {function.kind.value.lower()} function: there is "
                    f"a {known.kind.value.lower()} function of that name"
                )
            newer = {each.signature.accepted for each in function.overloads}
            older = [each for each in known.overloads if each.signature.accepted not in newer]
            function = replace(known, overloads=(*older, *function.overloads))
        self._functions[function.name.upper()] = function

    def copy(self) -> FunctionRegistry:
        """One that can be given more functions."""
        return FunctionRegistry(self)

    def __iter__(self) -> Iterator[Function]:
        return iter(self._functions.values())

    def find(self, name: str) -> Function | None:
        return self._functions.get(name.upper())

    def kind(self, name: str) -> Kind | None:
        """What a name stands for; None if for nothing."""
        function = self.find(name)
        return None if function is None else function.kind

    def scalar(
        self, name: str, arguments: Sequence[Argument], settings: Mapping[str, str] | None = None
    ) -> ScalarCall:
        """What a call of a scalar function means."""
        return self._call(self._get(name, Kind.SCALAR), arguments, settings)

    def table(
        self, name: str, arguments: Sequence[Argument], settings: Mapping[str, str] | None = None
    ) -> ScalarCall:
        """What a call of a table function means."""
        return self._call(self._get(name, Kind.TABLE), arguments, settings)

    def aggregate(
        self, name: str, arguments: Sequence[Argument], settings: Mapping[str, str] | None = None
    ) -> AggregateCall:
        """What a call of an aggregate function means. It must have arguments."""
        function = self._get(name, Kind.AGGREGATE)
        overload, match = resolve(function, arguments, casts=False)

        def make(literals: tuple[Any, ...]) -> Aggregate:
            return overload.aggregate(Call(match.types, match.returns, literals, settings or {}))

        return AggregateCall(match, make)

    def _get(self, name: str, kind: Kind) -> Function:
        function = self.find(name)
        if function is None or function.kind is not kind:
            raise FunctionError(
                f"Can't find any functions with the name '{name}'{self._hint(name, kind)}"
            )
        return function

    def _hint(self, name: str, kind: Kind) -> str:
        """What may have been meant."""
        names = [each for each, function in self._functions.items() if function.kind is kind]
        upper = name.upper()
        elsewhere = _ELSEWHERE.get(upper)
        near = [elsewhere] if elsewhere in names else get_close_matches(upper, names, 1, 0.75)
        return f"\nDid you mean {near[0]}?" if near else ""

    def _call(
        self,
        function: Function,
        arguments: Sequence[Argument],
        settings: Mapping[str, str] | None,
    ) -> ScalarCall:
        overload, match = resolve(function, arguments, casts=True)
        returns = match.returns if overload.returns is None else overload.returns(match.types)
        implementation = overload.function(Call(match.types, returns, (), settings or {}))
        return ScalarCall(returns, match, implementation, overload.strict)


_ELSEWHERE = {
    "ARRAY_AGG": "COLLECT_LIST",
    "CEILING": "CEIL",
    "LENGTH": "LEN",
    "LOWER": "LCASE",
    "NOW": "UNIX_TIMESTAMP",
    "NVL": "IFNULL",
    "POW": "POWER",
    "SUBSTR": "SUBSTRING",
    "TO_DATE": "PARSE_DATE",
    "TO_TIMESTAMP": "PARSE_TIMESTAMP",
    "UPPER": "UCASE",
}
"""What functions are called in other dialects."""


def resolve(
    function: Function, arguments: Sequence[Argument], *, casts: bool
) -> tuple[Overload, Match]:
    """The overload that is meant: first without casts, then with them, if they are allowed."""
    for cast in (False, True) if casts else (False,):
        candidates = [
            (overload, match)
            for overload in function.overloads
            if (match := overload.signature.match(arguments, cast=cast)) is not None
        ]
        if not candidates:
            continue
        best = max(overload.signature.rank for overload, _ in candidates)
        chosen = [each for each in candidates if each[0].signature.rank == best]
        if len(chosen) > 1:
            raise FunctionError(_ambiguous(function, arguments))
        return chosen[0]
    raise FunctionError(_unacceptable(function, arguments))


def _described(arguments: Sequence[Argument]) -> str:
    return ", ".join("null" if each is None else str(each) for each in arguments)


_MORE = "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;"


def _alternatives(function: Function) -> str:
    overloads = sorted(f"{function.name}{each.signature}" for each in function.overloads)
    return "Valid alternatives are:\n" + "\n".join(overloads) + "\n" + _MORE


def _ambiguous(function: Function, arguments: Sequence[Argument]) -> str:
    return (
        f"Function '{function.name}' cannot be resolved due to ambiguous method parameters "
        f"({_described(arguments)}).\n{_alternatives(function)}"
    )


def _unacceptable(function: Function, arguments: Sequence[Argument]) -> str:
    return (
        f"Function '{function.name}' does not accept parameters ({_described(arguments)}).\n"
        f"{_alternatives(function)}"
    )


@lru_cache(maxsize=1)
def builtin_functions() -> FunctionRegistry:
    """ksqlDB's own functions. To add some, take a copy."""
    from headrace.sql.functions.builtin import LIBRARIES

    return FunctionRegistry(function for library in LIBRARIES for function in library)
