"""The types that parameters of functions have, and which arguments fit them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from headrace.sql import types as sql
from headrace.sql.decimals import decimal_of
from headrace.sql.types import ArrayType, DecimalType, MapType, SqlType


@dataclass(frozen=True)
class LambdaArgument:
    """A lambda in a call: how many parameters it has, and the type of its body for theirs."""

    arity: int
    infer: Callable[[tuple[SqlType | None, ...]], SqlType | None]

    def __str__(self) -> str:
        return "LAMBDA"


@dataclass(frozen=True)
class UnitArgument:
    """A unit of time in a call."""

    def __str__(self) -> str:
        return "INTERVALUNIT"


Argument = SqlType | LambdaArgument | UnitArgument | None
"""What a call gives: the type of an argument, None for a NULL without one."""

Bindings = dict[str, SqlType | None]


class ParameterType(ABC):
    """A type as signatures say it."""

    @abstractmethod
    def accepts(self, argument: Argument, bindings: Bindings, *, cast: bool) -> bool:
        """Whether the argument fits, by a cast perhaps. Binds type variables."""

    @abstractmethod
    def bound(self, argument: Argument, bindings: Bindings) -> SqlType | None:
        """The type that the argument must be cast to; None if it is what it must be."""

    @property
    def generic(self) -> bool:
        return False


@dataclass(frozen=True)
class Exactly(ParameterType):
    """A type without variables."""

    type: SqlType

    def accepts(self, argument: Argument, bindings: Bindings, *, cast: bool) -> bool:
        if argument is None or argument == self.type:
            return True
        return cast and isinstance(argument, SqlType) and widens(argument, self.type)

    def bound(self, argument: Argument, bindings: Bindings) -> SqlType | None:
        return self.type

    def __str__(self) -> str:
        return "INT" if self.type == sql.INTEGER else str(self.type)


@dataclass(frozen=True)
class AnyDecimal(ParameterType):
    """DECIMAL of any precision."""

    def accepts(self, argument: Argument, bindings: Bindings, *, cast: bool) -> bool:
        if argument is None or isinstance(argument, DecimalType):
            return True
        return cast and argument in (sql.INTEGER, sql.BIGINT)

    def bound(self, argument: Argument, bindings: Bindings) -> SqlType | None:
        return decimal_of(argument) if isinstance(argument, SqlType) else None

    def __str__(self) -> str:
        return "DECIMAL"


@dataclass(frozen=True)
class Variable(ParameterType):
    """A type variable."""

    name: str

    def accepts(self, argument: Argument, bindings: Bindings, *, cast: bool) -> bool:
        if isinstance(argument, LambdaArgument | UnitArgument):
            return False
        known = bindings.get(self.name)
        if known is None:
            bindings[self.name] = argument
            return True
        return argument is None or argument == known

    def bound(self, argument: Argument, bindings: Bindings) -> SqlType | None:
        return bindings.get(self.name)

    @property
    def generic(self) -> bool:
        return True

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Anything(ParameterType):
    """Every type."""

    def accepts(self, argument: Argument, bindings: Bindings, *, cast: bool) -> bool:
        return not isinstance(argument, LambdaArgument | UnitArgument)

    def bound(self, argument: Argument, bindings: Bindings) -> SqlType | None:
        return argument if isinstance(argument, SqlType) else None

    @property
    def generic(self) -> bool:
        return True

    def __str__(self) -> str:
        return "ANY"


@dataclass(frozen=True)
class ArrayOf(ParameterType):
    """ARRAY of something."""

    element: ParameterType

    def accepts(self, argument: Argument, bindings: Bindings, *, cast: bool) -> bool:
        if argument is None:
            return True
        return isinstance(argument, ArrayType) and self.element.accepts(
            argument.element, bindings, cast=cast
        )

    def bound(self, argument: Argument, bindings: Bindings) -> SqlType | None:
        inner = argument.element if isinstance(argument, ArrayType) else None
        element = self.element.bound(inner, bindings)
        return None if element is None else ArrayType(element)

    @property
    def generic(self) -> bool:
        return self.element.generic

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class MapOf(ParameterType):
    """MAP from something to something."""

    key: ParameterType
    value: ParameterType

    def accepts(self, argument: Argument, bindings: Bindings, *, cast: bool) -> bool:
        if argument is None:
            return True
        return (
            isinstance(argument, MapType)
            and self.key.accepts(argument.key, bindings, cast=cast)
            and self.value.accepts(argument.value, bindings, cast=cast)
        )

    def bound(self, argument: Argument, bindings: Bindings) -> SqlType | None:
        of_key, of_value = (
            (argument.key, argument.value) if isinstance(argument, MapType) else (None, None)
        )
        key, value = self.key.bound(of_key, bindings), self.value.bound(of_value, bindings)
        return None if key is None or value is None else MapType(key, value)

    @property
    def generic(self) -> bool:
        return self.key.generic or self.value.generic

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class LambdaOf(ParameterType):
    """A lambda."""

    inputs: tuple[ParameterType, ...]
    output: ParameterType

    def accepts(self, argument: Argument, bindings: Bindings, *, cast: bool) -> bool:
        if not isinstance(argument, LambdaArgument) or argument.arity != len(self.inputs):
            return False
        body = argument.infer(self.input_types(bindings))
        return self.output.accepts(body, bindings, cast=False)

    def input_types(self, bindings: Bindings) -> tuple[SqlType | None, ...]:
        return tuple(each.bound(None, bindings) for each in self.inputs)

    def bound(self, argument: Argument, bindings: Bindings) -> SqlType | None:
        return None

    @property
    def generic(self) -> bool:
        return True

    def __str__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        return f"LAMBDA ({inputs}) => {self.output}"


@dataclass(frozen=True)
class Unit(ParameterType):
    """A unit of time."""

    def accepts(self, argument: Argument, bindings: Bindings, *, cast: bool) -> bool:
        return isinstance(argument, UnitArgument)

    def bound(self, argument: Argument, bindings: Bindings) -> SqlType | None:
        return None

    def __str__(self) -> str:
        return "INTERVALUNIT"


_NUMBERS = ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE")
_FROM_TEXT = (sql.DATE, sql.TIME, sql.TIMESTAMP, sql.BYTES)


def widens(source: SqlType, target: SqlType) -> bool:
    """Whether an argument may be cast to what a parameter asks for."""
    if source.name in _NUMBERS and target.name in _NUMBERS:
        return _NUMBERS.index(source.name) < _NUMBERS.index(target.name)
    if source == sql.STRING:
        return target in _FROM_TEXT
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return source.element == target.element or widens(source.element, target.element)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return all(
            one == other or widens(one, other)
            for one, other in ((source.key, target.key), (source.value, target.value))
        )
    return False
