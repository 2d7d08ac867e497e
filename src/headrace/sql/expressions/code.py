"""Python for a part of an expression, and what is put into it while it is made."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, TypeGuard

from headrace.sql.casts import UnsupportedCast, caster
from headrace.sql.expressions import python as py
from headrace.sql.expressions.errors import GenerationError
from headrace.sql.expressions.python import Expr
from headrace.sql.expressions.scope import Scope
from headrace.sql.syntax.ast import Expression
from headrace.sql.types import SqlType

GUARD = "guard"
"""`guard(lambda: X, expression)` is X, or NULL if computing it fails. `evaluation` takes it out
again, for rows that make nothing fail."""

_MAX_HEIGHT = 12
"""Python's compiler, and what copies its trees, go down only so far. What is higher becomes a
function of its own."""

_numbers = count()


@dataclass(frozen=True)
class Code:
    """A part of an expression as Python."""

    node: Expr
    type: SqlType | None
    """None: a NULL of which nobody knows the type."""
    nullable: bool = True


NULL = Code(py.NOTHING, None)


@dataclass(frozen=True)
class Part:
    """A part of an expression that is a function of its own; `evaluation` makes it."""

    parameters: tuple[str, ...]
    node: Expr


class Compiler(Protocol):
    """What makes Code of expressions, within a context."""

    def __call__(self, expression: Expression, context: Context) -> Code: ...


def is_guarded(node: Expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == GUARD


def _is_name(node: Expr) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


class Context:
    """What is known while an expression is compiled.

    Names of constants are never used twice in a process, so that pieces which were compiled one by
    one can be parts of one function.
    """

    def __init__(
        self,
        scope: Scope,
        compiler: Compiler,
        namespace: dict[str, Any] | None = None,
        variables: Mapping[str, Code] | None = None,
    ) -> None:
        self._height = 0  # of the highest expression so far, of those beside each other
        self.scope = scope
        self._compiler = compiler
        self.namespace: dict[str, Any] = {} if namespace is None else namespace
        self.variables: Mapping[str, Code] = variables or {}
        self._compiled: dict[int, tuple[Expression, Code, int]] = {}

    def compile(self, expression: Expression) -> Code:
        """The code of a part. Some are asked for twice, once for their type only: they would cost
        twice as much with each level, so they are compiled once."""
        beside, self._height = self._height, 0
        known = self._compiled.get(id(expression))
        if known is None:
            code = self._compiler(expression, self)
            height = self._height + 1
            if height > _MAX_HEIGHT:
                code, height = self.apart(code), 0
            known = self._compiled[id(expression)] = expression, code, height
        _, code, height = known
        self._height = max(beside, height)
        return code

    def apart(self, code: Code) -> Code:
        """The same, computed by a function of its own."""
        variables = [code.node.id for code in self.variables.values() if _is_name(code.node)]
        parameters = (*self.scope.parameters, *variables)
        part = self.bind(Part(parameters, code.node), "part")
        node = py.call(part, *(py.name(each) for each in parameters))
        return Code(node, code.type, code.nullable)

    def with_variables(self, variables: Mapping[str, Code]) -> Context:
        """The same within a lambda."""
        return Context(self.scope, self._compiler, self.namespace, {**self.variables, **variables})

    def bind(self, value: Any, hint: str = "constant") -> Expr:
        """Any value as a constant."""
        identifier = f"{hint}_{next(_numbers)}"
        self.namespace[identifier] = value
        return py.name(identifier)

    def constant(self, value: Any, type: SqlType) -> Code:
        """A value that isn't NULL. Numbers and text are in the code itself, others beside it."""
        plain = isinstance(value, bool | int | float | str | bytes)
        node = py.constant(value) if plain else self.bind(value)
        return Code(node, type, nullable=False)

    def value_of(self, node: Expr) -> Any:
        """The value of a constant; None if it is no constant."""
        if isinstance(node, ast.Constant):
            return node.value
        return self.namespace.get(node.id) if isinstance(node, ast.Name) else None

    def fresh(self, hint: str = "t") -> str:
        """A name that nothing else has."""
        return f"{hint}_{next(_numbers)}"

    def held(self, code: Code) -> tuple[Expr, Expr]:
        """The code for its first use, and for those that follow: it is computed once."""
        if isinstance(code.node, ast.Name | ast.Constant):
            return code.node, code.node
        identifier = self.fresh()
        return py.assigned(identifier, code.node), py.name(identifier)

    def strict(
        self,
        operands: Sequence[Code],
        build: Callable[..., Expr],
        otherwise: Expr = py.NOTHING,
    ) -> Expr:
        """What is built of the operands' values; `otherwise` if one of them is NULL."""
        checks, values = [], []
        for operand in operands:
            if not operand.nullable:
                values.append(operand.node)
                continue
            if isinstance(operand.node, ast.Constant):  # the constant NULL
                return otherwise
            first, again = self.held(operand)
            checks.append(py.is_none(first))
            values.append(again)
        built = build(*values)
        return py.either(py.any_of(checks), otherwise, built) if checks else built

    def condition(self, operands: Sequence[Code], build: Callable[..., Expr]) -> Expr:
        """A condition on the operands' values; FALSE if one of them is NULL."""
        checks, values = [], []
        for operand in operands:
            if not operand.nullable:
                values.append(operand.node)
                continue
            if isinstance(operand.node, ast.Constant):
                return py.constant(False)
            first, again = self.held(operand)
            checks.append(py.is_not_none(first))
            values.append(again)
        return py.all_of([*checks, build(*values)])

    def guarded(self, node: Expr, expression: Expression) -> Expr:
        """NULL if computing `node` fails, which is a part of what `expression` says."""
        if is_guarded(node) or isinstance(node, ast.Name | ast.Constant):
            return node
        said = self.bind(expression, "said")
        return py.call(py.name(GUARD), py.function_of((), node), said)

    def cast(self, code: Code, target: SqlType, expression: Expression) -> Code:
        """The code as a value of another type."""
        if code.type is None:
            return Code(py.NOTHING, target)
        try:
            convert = caster(code.type, target)
        except UnsupportedCast as error:
            raise GenerationError(str(error), expression) from None
        if convert is None:
            return Code(code.node, target, code.nullable)
        constant = None if code.nullable else self.value_of(code.node)
        if constant is not None:
            try:
                return self.constant(convert(constant), target)
            except (ValueError, ArithmeticError):
                pass  # it fails for each row, and then that is told
        converter = self.bind(convert, "cast")
        node = self.strict([code], lambda value: py.call(converter, value))
        return Code(self.guarded(node, expression), target)
