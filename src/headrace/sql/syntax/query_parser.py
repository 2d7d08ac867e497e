"""Queries in the text."""

from __future__ import annotations

from headrace.sql.syntax.ast import (
    AliasedSource,
    AllColumns,
    Duration,
    Emit,
    Expression,
    HoppingWindow,
    Join,
    JoinKind,
    Query,
    Relation,
    SelectItem,
    SessionWindow,
    SingleColumn,
    StructAll,
    TimeUnit,
    TumblingWindow,
    WindowExpression,
    Within,
)
from headrace.sql.syntax.expression_parser import UNITS, ExpressionParser
from headrace.sql.syntax.tokens import Kind
from headrace.sql.syntax.words import CLAUSES

_JOINS = (
    (("INNER", "JOIN"), JoinKind.INNER),
    (("JOIN",), JoinKind.INNER),
    (("LEFT", "OUTER", "JOIN"), JoinKind.LEFT),
    (("LEFT", "JOIN"), JoinKind.LEFT),
    (("RIGHT", "OUTER", "JOIN"), JoinKind.RIGHT),
    (("RIGHT", "JOIN"), JoinKind.RIGHT),
    (("FULL", "OUTER", "JOIN"), JoinKind.OUTER),
    (("FULL", "JOIN"), JoinKind.OUTER),
)

_LONGEST_MS = 1_000 * 366 * TimeUnit.DAYS.value


class QueryParser(ExpressionParser):
    """Reads queries."""

    def query(self) -> Query:
        position = self.position()
        self.expect("SELECT")
        select = self.listed(self._select_item)
        self.expect("FROM")
        source = self._relation()
        window = self._window() if self.take("WINDOW") else None
        where = self.expression() if self.take("WHERE") else None
        group_by = self._grouping() if self.take("GROUP", "BY") else ()
        partition_by = self._grouping() if self.take("PARTITION", "BY") else ()
        having = self.expression() if self.take("HAVING") else None
        emit = Emit[self.expect_any("CHANGES", "FINAL")] if self.take("EMIT") else None
        limit = self._limit() if self.take("LIMIT") else None
        return Query(
            select,
            source,
            window,
            where,
            group_by,
            partition_by,
            having,
            emit,
            limit,
            position=position,
        )

    def _limit(self) -> int:
        at = self.token
        if at.kind not in (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE) and not self.at("-"):
            raise self.expected(Kind.INTEGER.value)
        limit = self.literal().value
        if not isinstance(limit, int):
            raise self.failure(
                "Failed to prepare statement: Value must be integer for command: LIMIT", at
            )
        return limit

    # SELECT

    def _select_item(self) -> SelectItem:
        position = self.position()
        if self.take("*"):
            return AllColumns(position=position)
        if self.ahead(1).text == "." and self.ahead(2).text == "*":
            source = self.identifier()
            self.expect(".", "*")
            return AllColumns(source, position=position)
        expression = self.expression()
        if self.take("->", "*"):
            return StructAll(expression, position=position)
        return SingleColumn(expression, self._alias(), position=position)

    def _alias(self) -> str | None:
        if self.take("AS"):
            return self.identifier()
        token = self.token
        if token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.value not in CLAUSES):
            return self.identifier()
        return None

    # FROM

    def _relation(self) -> Relation:
        relation: Relation = self._source()
        while True:
            position = self.position()
            kind = next((kind for words, kind in _JOINS if self.take(*words)), None)
            if kind is None:
                return relation
            right = self._source()
            within = self._within() if self.take("WITHIN") else None
            self.expect("ON")
            relation = Join(kind, relation, right, self.expression(), within, position=position)

    def _source(self) -> AliasedSource:
        position = self.position()
        name = self.identifier()
        return AliasedSource(name, self._alias() or name, position=position)

    def _within(self) -> Within:
        position = self.position()
        if self.take("("):
            before = self.duration()
            self.expect(",")
            after = self.duration()
            self.expect(")")
        else:
            before = after = self.duration()
        grace = self.duration() if self.take("GRACE", "PERIOD") else None
        return Within(before, after, grace, position=position)

    # WINDOW

    def _window(self) -> WindowExpression:
        position = self.position()
        if self.token.kind is Kind.WORD and self.ahead(1).text != "(":
            self.identifier()  # a window can have a name, which nothing uses
        kind = self.expect_any("TUMBLING", "HOPPING", "SESSION")
        self.expect("(")
        if kind == "SESSION":
            gap = self.duration()
        else:
            self.expect("SIZE")
            size = self.duration()
        if kind == "HOPPING":
            self.expect(",", "ADVANCE", "BY")
            advance = self.duration()
        retention = self.duration() if self.take(",", "RETENTION") else None
        grace = self.duration() if self.take(",", "GRACE", "PERIOD") else None
        self.expect(")")
        if kind == "SESSION":
            return SessionWindow(gap, retention=retention, grace=grace, position=position)
        if kind == "HOPPING":
            return HoppingWindow(size, advance, retention=retention, grace=grace, position=position)
        return TumblingWindow(size, retention=retention, grace=grace, position=position)

    def duration(self) -> Duration:
        position = self.position()
        amount = self.integer()
        unit = UNITS.get(self.token.value) if self.token.kind is Kind.WORD else None
        if unit is None:
            raise self.expected(*(f"'{name}'" for name in UNITS))
        duration = Duration(amount, unit, position=position)
        if duration.milliseconds > _LONGEST_MS:
            raise self.error(f"{amount} {unit.name} is too long: 1000 years are the longest.")
        self.next()
        return duration

    # GROUP BY, PARTITION BY

    def _grouping(self) -> tuple[Expression, ...]:
        """Expressions, or all of them in one pair of brackets."""
        if self._in_brackets():
            self.expect("(")
            expressions = self.listed(self.value_expression)
            self.expect(")")
            return expressions
        return self.listed(self.value_expression)

    def _in_brackets(self) -> bool:
        """Whether a list in brackets comes: with a comma in them that isn't in others."""
        if not self.at("("):
            return False
        depth, place, comma = 0, 0, False
        while True:
            token = self.ahead(place)
            if token.kind is Kind.END:
                return False
            if token.kind is Kind.SYMBOL:
                if token.text in "([":
                    depth += 1
                elif token.text in ")]":
                    depth -= 1
                elif token.text == "," and depth == 1:
                    comma = True
            place += 1
            if depth == 0:
                return comma
