"""Expressions in the text.

From loosest to tightest: OR, AND, NOT, one comparison or predicate, `||`, `+ -`, `* / %`, signs,
then `[…]` and `->` behind a value.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import TypeVar

from headrace.sql.syntax.ast import (
    Arithmetic,
    ArithmeticOperator,
    ArrayConstructor,
    Between,
    Cast,
    ColumnReference,
    Comparison,
    ComparisonOperator,
    Expression,
    FieldAccess,
    FunctionCall,
    In,
    IntervalUnit,
    IsNotNull,
    IsNull,
    Lambda,
    LambdaVariable,
    Like,
    Literal,
    Logical,
    LogicalOperator,
    MapConstructor,
    Not,
    Position,
    SearchedCase,
    Sign,
    SimpleCase,
    StructConstructor,
    Subscript,
    TimeUnit,
    When,
)
from headrace.sql.syntax.tokens import Kind, Token
from headrace.sql.syntax.type_parser import TypeParser
from headrace.sql.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, DecimalType

Listed = TypeVar("Listed")

UNITS = {unit.name: unit for unit in TimeUnit} | {unit.name[:-1]: unit for unit in TimeUnit}
"""Plural and singular."""

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
_COMPARISONS = {op.value: op for op in ComparisonOperator if len(op.value) <= 2} | {
    "!=": ComparisonOperator.NOT_EQUAL
}
_OR, _AND, _NOT, _PREDICATE, _CONCATENATION, _SUM, _PRODUCT = range(1, 8)
"""How tightly operators bind."""

_SYMBOLS = (
    dict.fromkeys(_COMPARISONS, _PREDICATE)
    | {"||": _CONCATENATION}
    | dict.fromkeys("+-", _SUM)
    | dict.fromkeys("*/%", _PRODUCT)
)
_WORDS = {"OR": _OR, "AND": _AND} | dict.fromkeys(
    ("IS", "NOT", "BETWEEN", "IN", "LIKE"), _PREDICATE
)


class ExpressionParser(TypeParser):
    """Reads expressions."""

    _variables: tuple[str, ...] = ()
    """The parameters of the lambdas around the place that is read."""

    def expression(self) -> Expression:
        with self.deeper(5):
            return self._operation(_OR)

    def value_expression(self) -> Expression:
        """An expression without AND, OR, NOT and predicates, unless they are in brackets."""
        with self.deeper(5):
            return self._operation(_CONCATENATION)

    def _operation(self, loosest: int) -> Expression:
        """Operands, and operators between them that bind as tightly as `loosest` or tighter."""
        negated = loosest <= _NOT and self.at("NOT")
        left = self._negation() if negated else self._signed()
        tightest = _AND if negated else _PRODUCT
        while loosest <= (level := self._level()) <= tightest:
            left = self._operator(left, level)
            # A predicate has no other beside it: `a = b = c` makes no sense.
            tightest = _AND if level == _PREDICATE else level
        return left

    def _level(self) -> int:
        """How tightly the next token binds, if it is an operator; else 0."""
        token = self.token
        if token.kind is Kind.SYMBOL:
            return _SYMBOLS.get(token.value, 0)
        if token.kind is not Kind.WORD:
            return 0
        if token.value == "NOT" and self.ahead(1).value not in ("BETWEEN", "IN", "LIKE"):
            return 0
        return _WORDS.get(token.value, 0)

    def _operator(self, left: Expression, level: int) -> Expression:
        """What an operator makes of what is before it and what follows."""
        position = self.position()
        if level == _PREDICATE:
            with self.deeper(4):
                return self._predicate(left, position)
        operator = self.next().value
        with self.deeper(2):
            right = self._operation(level + 1)
        if level == _CONCATENATION:
            return FunctionCall("CONCAT", (left, right), position=position)
        if level in (_OR, _AND):
            return Logical(LogicalOperator(operator), left, right, position=position)
        return Arithmetic(ArithmeticOperator(operator), left, right, position=position)

    def _negation(self) -> Expression:
        position = self.position()
        self.expect("NOT")
        with self.deeper(2):
            return Not(self._operation(_NOT), position=position)

    # Predicates

    def _predicate(self, operand: Expression, position: Position) -> Expression:
        if self.token.kind is Kind.SYMBOL:
            operator = _COMPARISONS[self.next().value]
            right = self._operation(_CONCATENATION)
            return Comparison(operator, operand, right, position=position)
        if self.take("IS"):
            return self._is(operand, position)
        negated = self.take("NOT")
        predicate = self._between_in_like(operand, position)
        return Not(predicate, position=position) if negated else predicate

    def _is(self, operand: Expression, position: Position) -> Expression:
        negated = self.take("NOT")
        if self.take("DISTINCT", "FROM"):
            operator = (
                ComparisonOperator.IS_NOT_DISTINCT_FROM
                if negated
                else ComparisonOperator.IS_DISTINCT_FROM
            )
            right = self._operation(_CONCATENATION)
            return Comparison(operator, operand, right, position=position)
        if not self.take("NULL"):
            raise self.expected("'NOT'", "'NULL'", "'DISTINCT'")
        return (IsNotNull if negated else IsNull)(operand, position=position)

    def _between_in_like(self, operand: Expression, position: Position) -> Expression:
        if self.take("BETWEEN"):
            lower = self._operation(_CONCATENATION)
            self.expect("AND")
            upper = self._operation(_CONCATENATION)
            return Between(operand, lower, upper, position=position)
        if self.take("IN"):
            self.expect("(")
            items = self.listed(self.expression)
            self.expect(")")
            return In(operand, items, position=position)
        self.expect("LIKE")
        pattern = self._operation(_CONCATENATION)
        return Like(operand, pattern, self._escape(), position=position)

    def _escape(self) -> str | None:
        if not self.take("ESCAPE"):
            return None
        at = self.token
        escape = self.string()
        if len(escape) != 1:
            raise self.failure(
                f"line {at.position}: Expected exactly one character in ESCAPE clause", at
            )
        return escape

    # Values

    def _signed(self) -> Expression:
        position = self.position()
        if not self.at_any("-", "+") or (self.at("-") and self.ahead(1).kind in _NUMBERS):
            return self._postfixed()
        negative = self.next().value == "-"
        with self.deeper(1):
            return Sign(negative, self._signed(), position=position)

    def _postfixed(self) -> Expression:
        base = self._primary()
        while True:
            position = self.position()
            if self.take("["):
                index = self.value_expression()
                self.expect("]")
                base = Subscript(base, index, position=position)
            elif self.at("->") and self.ahead(1).value != "*":
                self.next()
                base = FieldAccess(base, self.identifier(), position=position)
            else:
                return base

    def _primary(self) -> Expression:
        token = self.token
        if token.kind in (*_NUMBERS, Kind.STRING) or self.at("-"):
            return self.literal()
        if token.kind is Kind.SYMBOL and self.take("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if token.kind is Kind.WORD:
            with self.deeper(5):
                return self._word()
        if token.kind is Kind.QUOTED:
            with self.deeper(5):
                return self._named()
        raise self.error(f"{self.near()}\nExpecting an expression")

    def _word(self) -> Expression:
        position = self.position()
        match self.token.value:
            case "NULL" | "TRUE" | "FALSE":
                return self.literal()
            case "CASE":
                return self._case()
            case "CAST":
                self.expect("CAST", "(")
                operand = self.expression()
                self.expect("AS")
                type_ = self.type()
                self.expect(")")
                return Cast(operand, type_, position=position)
            case "ARRAY" if self.take("ARRAY", "["):
                items = () if self.at("]") else self.listed(self.expression)
                self.expect("]")
                return ArrayConstructor(items, position=position)
            case "MAP" if self.take("MAP", "("):
                entries = () if self.at(")") else self.listed(self._entry)
                self.expect(")")
                return MapConstructor(entries, position=position)
            case "STRUCT" if self.take("STRUCT", "("):
                fields = () if self.at(")") else self.listed(self._field)
                self.expect(")")
                return StructConstructor(fields, position=position)
            case _:
                return self._named()

    def _entry(self) -> tuple[Expression, Expression]:
        key = self.expression()
        self.expect(":=")
        return key, self.expression()

    def _field(self) -> tuple[str, Expression]:
        name = self.identifier()
        self.expect(":=")
        return name, self.expression()

    def _case(self) -> Expression:
        position = self.position()
        self.expect("CASE")
        operand = None if self.at("WHEN") else self.expression()
        whens: list[When] = []
        while self.at("WHEN"):
            at = self.position()
            self.next()
            condition = self.expression()
            self.expect("THEN")
            whens.append(When(condition, self.expression(), position=at))
        if not whens:
            raise self.expected("'WHEN'")
        default = self.expression() if self.take("ELSE") else None
        self.expect("END")
        if operand is None:
            return SearchedCase(tuple(whens), default, position=position)
        return SimpleCase(operand, tuple(whens), default, position=position)

    # Names and calls

    def _named(self) -> Expression:
        position = self.position()
        name = self.identifier()
        if self.take("("):
            return self._call(name, position)
        if self.at(".") and self.ahead(1).value != "*":
            self.next()
            return ColumnReference(self.identifier(), name, position=position)
        if name in self._variables:
            return LambdaVariable(name, position=position)
        return ColumnReference(name, position=position)

    def _call(self, name: str, position: Position) -> Expression:
        arguments: tuple[Expression, ...] = ()
        if not self.take("*") and not self.at(")"):
            arguments = self.listed(self._argument)
        self.expect(")")
        return FunctionCall(name.upper(), arguments, position=position)

    def _argument(self) -> Expression:
        position = self.position()
        if self._at_lambda():
            return self._lambda()
        if self.token.kind is Kind.WORD and self.ahead(1).text in (",", ")"):
            # `DAYS`. What `DAY` is depends on the columns there are.
            unit = TimeUnit.__members__.get(self.token.value)
            if unit is not None and self.token.value not in self._variables:
                self.next()
                return IntervalUnit(unit, position=position)
        return self.expression()

    def _at_lambda(self) -> bool:
        names = (Kind.WORD, Kind.QUOTED)
        if self.token.kind in names:
            return self.ahead(1).text == "=>"
        if not self.at("("):
            return False
        place = 1
        while self.ahead(place).kind in names and self.ahead(place + 1).text == ",":
            place += 2
        return (
            self.ahead(place).kind in names
            and self.ahead(place + 1).text == ")"
            and self.ahead(place + 2).text == "=>"
        )

    def _lambda(self) -> Expression:
        position = self.position()
        if self.take("("):
            parameters = self.listed(self.identifier)
            self.expect(")")
        else:
            parameters = (self.identifier(),)
        self.expect("=>")
        outer, self._variables = self._variables, self._variables + parameters
        body = self.expression()
        self._variables = outer
        return Lambda(parameters, body, position=position)

    def listed(self, read: Callable[[], Listed]) -> tuple[Listed, ...]:
        """At least one, with commas between."""
        items = [read()]
        while self.take(","):
            items.append(read())
        return tuple(items)

    # Literals

    def literal(self) -> Literal:
        token = self.token
        position = token.position
        if self.take("NULL"):
            return Literal(None, None, position=position)
        if self.at_any("TRUE", "FALSE"):
            return Literal(self.next().value == "TRUE", BOOLEAN, position=position)
        if token.kind is Kind.STRING:
            return Literal(self.next().value, STRING, position=position)
        sign = "-" if self.take("-") else ""
        if self.token.kind not in _NUMBERS:
            raise self.error(f"{self.near()}\nExpecting a literal")
        return self._number(sign, self.next(), position)

    def _number(self, sign: str, token: Token, position: Position) -> Literal:
        text = sign + token.value
        if token.kind is Kind.INTEGER:
            return self._whole_number(text, token, position)
        if token.kind is Kind.DECIMAL:
            exact = decimal.Decimal(text)
            digits, exponent = exact.as_tuple().digits, exact.as_tuple().exponent
            scale = -int(exponent)
            precision = max(len(digits), scale)
            return Literal(exact, DecimalType(precision, scale), position=position)
        number = float(text)
        if number in (float("inf"), float("-inf")):
            # ksqlDB counts columns from 0 here and adds one twice.
            line, column = position
            raise self.failure(
                "Failed to prepare statement: "
                f"line {line}:{column + 1}: Number overflows DOUBLE: {text}",
                token,
            )
        return Literal(number, DOUBLE, position=position)

    def _whole_number(self, text: str, token: Token, position: Position) -> Literal:
        if len(token.value.lstrip("0")) > 19:
            raise self.failure(f"Invalid numeric literal: {text}", token)
        number = int(text)
        if -(2**31) <= number < 2**31:
            return Literal(number, INTEGER, position=position)
        if -(2**63) <= number < 2**63:
            return Literal(number, BIGINT, position=position)
        raise self.failure(f"Invalid numeric literal: {text}", token)
