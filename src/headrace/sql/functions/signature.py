"""What arguments a function takes, and whether those of a call fit.

A signature is written as ksqlDB describes functions: `(ARRAY<T> array, STRING... others) -> T`.
Single letters are type variables, bound once per call; `ANY` takes every type; a DECIMAL has any
precision; `literal` after a parameter's name asks for a constant.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from headrace.sql import types as sql
from headrace.sql.decimals import decimal_of
from headrace.sql.types import ArrayType, DecimalType, Field, MapType, SqlType, StructType


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


@dataclass(frozen=True)
class Parameter:
    """One parameter, or any number of them."""

    type: ParameterType
    name: str
    variadic: bool = False
    literal: bool = False

    def __str__(self) -> str:
        text = f"{self.type}{'...' if self.variadic else ''}"
        return f"{text} {self.name}" if self.name else text


@dataclass(frozen=True)
class Match:
    """How the arguments of a call fit."""

    types: tuple[SqlType | None, ...]
    """What each argument is to be cast to; None for lambdas, units, and NULL of unknown type."""
    returns: SqlType | None
    lambda_inputs: tuple[tuple[SqlType | None, ...] | None, ...]
    """The types of the parameters of each argument that is a lambda."""
    literals: tuple[bool, ...]
    """Which arguments must be constants."""


@dataclass(frozen=True)
class Signature:
    """Parameters and result of an overload."""

    parameters: tuple[Parameter, ...]
    returns: ParameterType

    def match(self, arguments: Sequence[Argument], *, cast: bool) -> Match | None:
        """How the arguments fit, if they do."""
        parameters = self._parameters_of(len(arguments))
        if parameters is None:
            return None
        bindings: Bindings = {}
        if not all(
            parameter.type.accepts(argument, bindings, cast=cast)
            for parameter, argument in zip(parameters, arguments, strict=True)
        ):
            return None
        pairs = list(zip(parameters, arguments, strict=True))
        return Match(
            tuple(parameter.type.bound(argument, bindings) for parameter, argument in pairs),
            self.returns.bound(None, bindings),
            tuple(
                parameter.type.input_types(bindings)
                if isinstance(parameter.type, LambdaOf)
                else None
                for parameter in parameters
            ),
            tuple(parameter.literal for parameter in parameters),
        )

    def _parameters_of(self, count: int) -> list[Parameter] | None:
        """A parameter for each of `count` arguments."""
        if self.variadic_at is None:
            return list(self.parameters) if count == len(self.parameters) else None
        repeats = count - len(self.parameters) + 1
        if repeats < 0:
            return None
        at = self.variadic_at
        return [
            *self.parameters[:at],
            *[self.parameters[at]] * repeats,
            *self.parameters[at + 1 :],
        ]

    @property
    def accepted(self) -> tuple[tuple[str, bool], ...]:
        """What is taken, whatever it is called."""
        return tuple((str(each.type), each.variadic) for each in self.parameters)

    @property
    def variadic_at(self) -> int | None:
        return next((at for at, each in enumerate(self.parameters) if each.variadic), None)

    @property
    def rank(self) -> tuple[int, int, int, int, int]:
        """Of several overloads that fit, the one with the greatest rank is meant."""
        at = self.variadic_at
        return (
            at is None,
            len(self.parameters) - (at is not None),
            -sum(each.type.generic for each in self.parameters),
            at is None or not isinstance(self.parameters[at].type, Anything),
            -1 if at is None else at,
        )

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))})"


_TOKEN = re.compile(r"\s*(\w+|=>|->|\.\.\.|[<>(),])")
_NAMES = {
    "BOOLEAN": sql.BOOLEAN,
    "INT": sql.INTEGER,
    "BIGINT": sql.BIGINT,
    "DOUBLE": sql.DOUBLE,
    "STRING": sql.STRING,
    "BYTES": sql.BYTES,
    "DATE": sql.DATE,
    "TIME": sql.TIME,
    "TIMESTAMP": sql.TIMESTAMP,
}


@cache
def signature(text: str) -> Signature:
    """Reads a signature."""
    return _Reader(text).signature()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: Iterator[str] = iter(_TOKEN.findall(text))
        self._next = next(self._tokens, "")

    def _take(self, expected: str | None = None) -> str:
        token = self._next
        if expected is not None and token != expected:
            raise ValueError(f"expected {expected!r}, not {token!r}, in the signature {self._text}")
        self._next = next(self._tokens, "")
        return token

    def _taken(self, token: str) -> bool:
        if self._next != token:
            return False
        self._take()
        return True

    def signature(self) -> Signature:
        self._take("(")
        parameters = []
        while not self._taken(")"):
            parameters.append(self._parameter())
            self._taken(",")
        self._take("->")
        returns = self._type()
        self._take("")
        return Signature(tuple(parameters), returns)

    def _parameter(self) -> Parameter:
        type = self._type()
        variadic = self._taken("...")
        name = "" if self._next in (",", ")") else self._take()
        return Parameter(type, name, variadic, self._taken("literal"))

    def _type(self) -> ParameterType:
        name = self._take()
        if name in _NAMES:
            return Exactly(_NAMES[name])
        match name:
            case "DECIMAL" if self._taken("("):
                precision = int(self._take())
                self._take(",")
                scale = int(self._take())
                self._take(")")
                return Exactly(DecimalType(precision, scale))
            case "DECIMAL":
                return AnyDecimal()
            case "ANY":
                return Anything()
            case "INTERVAL_UNIT":
                return Unit()
            case "ARRAY":
                self._take("<")
                element = self._type()
                self._take(">")
                return _array(element)
            case "MAP":
                self._take("<")
                key = self._type()
                self._take(",")
                value = self._type()
                self._take(">")
                return _map(key, value)
            case "STRUCT":
                self._take("<")
                fields = []
                while not self._taken(">"):
                    fields.append(self._field())
                    self._taken(",")
                return Exactly(StructType(tuple(fields)))
            case "LAMBDA":
                return self._lambda()
            case _ if len(name) == 1:
                return Variable(name)
        raise ValueError(f"unknown type {name} in the signature {self._text}")

    def _field(self) -> Field:
        name = self._take()
        type = self._type()
        if not isinstance(type, Exactly):
            raise ValueError(f"a field can't be {type} in the signature {self._text}")
        return Field(name, type.type)

    def _lambda(self) -> LambdaOf:
        self._take("(")
        self._take("(")
        inputs = []
        while not self._taken(")"):
            inputs.append(self._type())
            self._taken(",")
        self._take("=>")
        output = self._type()
        self._take(")")
        return LambdaOf(tuple(inputs), output)


def _array(element: ParameterType) -> ParameterType:
    if isinstance(element, Exactly):
        return Exactly(ArrayType(element.type))
    return ArrayOf(element)


def _map(key: ParameterType, value: ParameterType) -> ParameterType:
    if isinstance(key, Exactly) and isinstance(value, Exactly):
        return Exactly(MapType(key.type, value.type))
    return MapOf(key, value)
