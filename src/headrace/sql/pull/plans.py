"""Plans of pull queries that are asked again and again, each time for another key."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from headrace.sql.pull.planner import plan_pull
from headrace.sql.pull.query import PullQuery
from headrace.sql.statements.session import Session
from headrace.sql.syntax.ast import ColumnReference, Comparison, ComparisonOperator, Literal, Query

_MOST = 1_000


class PullPlans:
    """Plans queries. `… WHERE key = 'a'` and `… WHERE key = 'b'` are planned once, until `forget`:
    to be called whenever anything has changed that plans depend on."""

    def __init__(self) -> None:
        self._known: dict[Hashable, PullQuery] = {}

    def plan(self, session: Session, query: Query, overrides: Mapping[str, Any]) -> PullQuery:
        """`overrides` are the settings that are made for the query alone. Raises SqlError if it
        can't be answered."""
        literal = _compared_with(query)
        if literal is None:
            return plan_pull(session, query, "pull")
        key = ((literal.value,),)
        shape = (_without_literal(query), repr(overrides))
        known = self._known.get(shape)
        if known is not None:
            return replace(known, keys=key)
        plan = plan_pull(session, query, "pull")
        # Not so if the literal is cast to another type, or compared with something else.
        if plan.keys == key and type(plan.keys[0][0]) is type(literal.value):
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[shape] = plan
        return plan

    def forget(self) -> None:
        self._known.clear()


def _compared_with(query: Query) -> Literal | None:
    """What a column has to be equal to, if that is all that a query asks for."""
    match query.where:
        case Comparison(ComparisonOperator.EQUAL, ColumnReference(), Literal(str() | int()) as key):
            return None if isinstance(key.value, bool) else key
    return None


def _without_literal(query: Query) -> Hashable:
    """What is the same in all queries that differ in its value only."""
    where = query.where
    assert isinstance(where, Comparison)
    assert isinstance(where.right, Literal)
    return replace(query, where=where.left), where.right.type
