"""Plans push queries."""

from __future__ import annotations

from headrace.sql.analysis.analyzer import analyse
from headrace.sql.plan.planner import Planner
from headrace.sql.push.query import PushQuery
from headrace.sql.statements.session import Session
from headrace.sql.syntax.ast import Query


def plan_push(session: Session, query: Query, query_id: str) -> PushQuery:
    """Raises SqlError if the query makes no sense."""
    resolved = analyse(query, session.metastore)
    planner = Planner(session.functions, session.settings, session.topics, sink=None)
    planned = planner.plan(resolved)
    return PushQuery(
        query_id,
        planned.schema.value,
        tuple(each.source.topic for each in resolved.sources),
        query.limit,
        planned,
        session,
    )
