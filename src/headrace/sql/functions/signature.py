"""What arguments an overload of a function takes, and whether those of a call fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.sql.functions.parameter_types import (
    Anything,
    Argument,
    Bindings,
    LambdaOf,
    ParameterType,
)
from headrace.sql.types import SqlType


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
