"""Plans queries: the steps from topics to the rows of the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.sql.analysis.query import ResolvedQuery
from headrace.sql.analysis.sources import QuerySource
from headrace.sql.formats import FormatInfo
from headrace.sql.functions.registry import FunctionRegistry
from headrace.sql.plan.aggregation import Grouped, is_aggregation
from headrace.sql.plan.checks import (
    check_clauses,
    check_known_functions,
    check_names,
    check_sources,
    check_types,
)
from headrace.sql.plan.draft import Draft, PlannedQuery
from headrace.sql.plan.grouped import plan_grouped
from headrace.sql.plan.keys import query_key
from headrace.sql.plan.plain import plan_plain
from headrace.sql.plan.projection import Projection, split
from headrace.sql.plan.selection import expand
from headrace.sql.syntax.ast import Literal
from headrace.sql.topics import Topics
from headrace.sql.types import STRING

__all__ = ["PlannedQuery", "Planner"]


@dataclass(frozen=True)
class Planner:
    """Plans queries. Results go to `sink`; without one they go to who asked, so that the key need
    not be among them, and anything may be.

    `key_format` is what the sink wants keys to be written in, if it says so.
    """

    functions: FunctionRegistry
    settings: Mapping[str, Any]
    topics: Topics
    sink: str | None
    key_format: FormatInfo | None = None

    def plan(self, query: ResolvedQuery) -> PlannedQuery:
        """Raises SqlError if the query makes no sense."""
        draft = Draft(query, self.functions, self.settings, self.topics, self.key_format)
        self._begin(draft)
        transient = self.sink is None
        key = query_key(query, draft.columns)
        selected = expand(query, draft.columns, key, draft.typing, bounds=transient)
        check_known_functions(draft, selected)
        aggregates = is_aggregation(query, selected, self.functions, groups_needed=not transient)
        if aggregates and not query.group_by:
            draft.query = query = replace(query, group_by=(Literal("", STRING),))
            key = query_key(query, draft.columns)
        check_clauses(query, aggregates=aggregates)
        if aggregates:
            Grouped(key, draft.columns, self.functions).select(selected)
        else:
            check_types(draft, selected)
        if self.sink is None:
            projection = Projection(None, tuple(selected))
        else:
            projection = split(query, draft.columns, key, selected, self.sink)
            check_names(query)
        return (plan_grouped if aggregates else plan_plain)(draft, key, projection)

    def _begin(self, draft: Draft) -> None:
        query = draft.query
        if self.sink is not None:
            check_sources(query)
        if query.where is not None:
            draft.use([query.where])
        relation = query.relation
        while not isinstance(relation, QuerySource):
            draft.use([relation.left_expression, relation.right_expression])
            relation = relation.left
        if query.is_join:
            draft.relation()  # what can't be joined is told before anything else
