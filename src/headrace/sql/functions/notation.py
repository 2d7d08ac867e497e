"""Signatures as text, as ksqlDB describes functions: `(ARRAY<T> array, STRING... others) -> T`.

Single letters are type variables, bound once per call; `ANY` takes every type; a DECIMAL has any
precision; `literal` after a parameter's name asks for a constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from headrace.sql import types as sql
from headrace.sql.functions.parameter_types import (
    AnyDecimal,
    Anything,
    ArrayOf,
    Exactly,
    LambdaOf,
    MapOf,
    ParameterType,
    Unit,
    Variable,
)
from headrace.sql.functions.signature import Parameter, Signature
from headrace.sql.types import ArrayType, DecimalType, Field, MapType, StructType

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
