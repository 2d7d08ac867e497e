"""Resolves a query: its sources, its names, and what it joins on."""

from __future__ import annotations

from headrace.sql.analysis.aliases import AliasGenerator
from headrace.sql.analysis.join_keys import synthetic_key
from headrace.sql.analysis.query import JoinedSources, ResolvedQuery, sources_of
from headrace.sql.analysis.resolution import Resolver, check_alias
from headrace.sql.analysis.sources import QuerySource
from headrace.sql.errors import SqlError
from headrace.sql.metastore import Metastore
from headrace.sql.syntax.ast import (
    AliasedSource,
    AllColumns,
    ColumnReference,
    Comparison,
    ComparisonOperator,
    Expression,
    FieldAccess,
    Join,
    Literal,
    Query,
    Relation,
    SelectItem,
    SingleColumn,
    StructAll,
)
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.syntax.traversal import walk


def analyse(query: Query, metastore: Metastore) -> ResolvedQuery:
    """Resolve a query. Raises SqlError if names mean nothing, or more than one thing."""
    found = list(_find(query.source, metastore))
    _check_distinct(found)
    windowed = query.window is not None and len(found) == 1
    resolver = Resolver(found, metastore.types, windowed=windowed)
    aliases = AliasGenerator(found)
    relation = _relation(query.source, {each.alias: each for each in found}, resolver)
    resolver.synthetic_key = synthetic_key(relation)

    def each(expressions: tuple[Expression, ...], clause: str) -> tuple[Expression, ...]:
        return tuple(resolver.resolve(expression, clause) for expression in expressions)

    where = None if query.where is None else resolver.resolve(query.where, "WHERE")
    having = None if query.having is None else resolver.resolve(query.having, "HAVING")
    return ResolvedQuery(
        relation,
        tuple(_select_item(item, resolver, aliases) for item in query.select),
        query.window,
        where,
        each(query.group_by, "GROUP BY"),
        each(query.partition_by, "PARTITION BY"),
        having,
        query.emit,
        query.limit,
        aliases,
    )


def _find(relation: Relation, metastore: Metastore) -> list[QuerySource]:
    if isinstance(relation, Join):
        return [*_find(relation.left, metastore), *_find(relation.right, metastore)]
    assert isinstance(relation, AliasedSource)
    source = metastore.find(relation.source)
    if source is None:
        raise SqlError(
            "Failed to prepare statement: "
            f"{relation.source} does not exist.{metastore.hint(relation.source)}",
            relation.position,
        )
    return [QuerySource(relation.alias, source)]


def _check_distinct(found: list[QuerySource]) -> None:
    seen: set[str] = set()
    for each in found:
        name = each.source.name
        if name in seen and len(found) == 2:
            raise SqlError(f"Can not join '{name}' to '{name}': self joins are not yet supported.")
        if name in seen:
            raise SqlError(
                f"N-way joins do not support multiple occurrences of the same source. "
                f"Source: '{name}'"
            )
        seen.add(name)


# SELECT


def _select_item(item: SelectItem, resolver: Resolver, aliases: AliasGenerator) -> SelectItem:
    match item:
        case AllColumns(source):
            if source is not None:
                resolver.source(source)
            return item
        case StructAll(base):
            return StructAll(resolver.resolve(base, "SELECT"), position=item.position)
        case SingleColumn(expression, alias):
            check_alias(item)
            resolved = resolver.resolve(expression, "SELECT")
            if alias is None:
                alias = _alias(expression, resolved, resolver, aliases)
            return SingleColumn(resolved, alias, position=item.position)
        case _:
            raise TypeError(f"{type(item).__name__} can't be selected")


def _alias(
    expression: Expression, resolved: Expression, resolver: Resolver, aliases: AliasGenerator
) -> str:
    if isinstance(resolved, ColumnReference):
        if resolver.is_ambiguous(resolved.name):
            return f"{resolved.source}_{resolved.name}"
        return resolved.name
    if isinstance(expression, FieldAccess):
        return aliases.field(expression.name)
    return aliases.column()


# JOIN


def _relation(
    relation: Relation, found: dict[str, QuerySource], resolver: Resolver
) -> QuerySource | JoinedSources:
    if isinstance(relation, AliasedSource):
        return found[relation.alias]
    assert isinstance(relation, Join)
    left = _relation(relation.left, found, resolver)
    right = found[relation.right.alias]
    criteria = relation.criteria
    if not isinstance(criteria, Comparison) or criteria.operator is not ComparisonOperator.EQUAL:
        raise SqlError(
            f"Unsupported join expression: {format_expression(criteria)}. "
            "Only equality comparisons are supported: ON left_column = right_column.",
            criteria.position,
        )
    resolved = resolver.resolve(criteria, "JOIN ON")
    assert isinstance(resolved, Comparison)
    left_side, right_side = _sides(resolved, left, right)
    return JoinedSources(
        relation.kind, left, right, left_side, right_side, resolved, relation.within
    )


def _sides(
    criteria: Comparison, left: QuerySource | JoinedSources, right: QuerySource
) -> tuple[Expression, Expression]:
    """The expression of the left sources, and that of the right one."""
    one = _only_source(criteria.left, criteria)
    other = _only_source(criteria.right, criteria)
    lefts = {source.alias for source in sources_of(left)}
    if one in lefts and other == right.alias:
        return criteria.left, criteria.right
    if other in lefts and one == right.alias:
        return criteria.right, criteria.left
    raise SqlError(
        "Each side of the join must reference exactly one source and not the same source. "
        f"Left side references `{one}` and right references `{other}`"
    )


def _only_source(side: Expression, criteria: Comparison) -> str:
    names = {
        node.source for node in walk(side) if isinstance(node, ColumnReference) and node.source
    }
    if len(names) != 1 or isinstance(side, Literal):
        raise SqlError(
            f"Invalid comparison expression '{format_expression(side)}' in join "
            f"'{format_expression(criteria)}'. Each side of the join comparision must contain "
            "references from exactly one source.",
            side.position,
        )
    return names.pop()
