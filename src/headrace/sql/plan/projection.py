"""Which selected columns are the key of the result, and which are its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.sql.analysis.join_keys import is_foreign_key_join
from headrace.sql.analysis.query import JoinedSources, ResolvedQuery
from headrace.sql.errors import SqlError
from headrace.sql.plan.columns import Columns
from headrace.sql.plan.keys import KeyPart
from headrace.sql.plan.selection import Selected
from headrace.sql.syntax.ast import ColumnReference
from headrace.sql.syntax.formatter import format_expression


@dataclass(frozen=True)
class Projection:
    """Names of the key's columns, and all other columns. Without names, the key is no part of the
    result, so that all columns are values."""

    key: tuple[str, ...] | None
    values: tuple[Selected, ...]


def split(
    query: ResolvedQuery,
    columns: Columns,
    key: tuple[KeyPart, ...],
    selected: Sequence[Selected],
    sink: str,
) -> Projection:
    """Find the key among what is selected. Raises SqlError if it isn't there, is there twice, or if
    there is nothing else."""
    found: dict[int, Selected] = {}
    for index, part in enumerate(key):
        for expression in part.expressions:
            same = [item for item in selected if item.expression == expression]
            if len(same) > 1:
                raise SqlError(
                    f"The projection contains a key column (`{same[0].alias}`) more than once, "
                    f"aliased as: {_listed([item.alias for item in same], 'and')}."
                )
            if same:
                found[index] = same[0]
                break
    values = [item for item in selected if item not in found.values()]
    if len(found) < len(key):
        raise SqlError(_missing(query, columns, key, found, sink))
    if not values:
        raise SqlError("The projection contains no value columns.")
    return Projection(tuple(found[i].alias for i in range(len(key))), tuple(values))


def _missing(
    query: ResolvedQuery,
    columns: Columns,
    key: tuple[KeyPart, ...],
    found: dict[int, Selected],
    sink: str,
) -> str:
    relation = query.relation
    if isinstance(relation, JoinedSources) and not query.group_by and not query.partition_by:
        if is_foreign_key_join(relation):
            return _missing_primary_key(relation, key, found)
        what, shown, example = _join_expressions(key)
    elif query.partition_by:
        shown = [format_expression(part.expressions[0]) for part in key]
        what, example = _plural("partitioning expression", shown), shown
    elif query.group_by:
        shown = [format_expression(columns.internal(part.expressions[0])) for part in key]
        what, example = _plural("grouping expression", shown), shown
    else:
        shown = [part.name for part in key]
        what, example = _plural("key column", shown), shown
    word = "or" if "join" in what else "and"
    message = (
        "Key missing from projection (ie, SELECT). See https://cnfl.io/2LV7ouS.\n"
        f"The query used to build `{sink}` must include the {what} {_listed(shown, word)} in its "
        f"projection (eg, SELECT {', '.join(example)}...)."
    )
    if "join" in what and columns.synthetic_key is not None:
        message += (
            f"\n{columns.synthetic_key} was added as a synthetic key column because the join "
            "criteria did not match any source column. This expression must be included in the "
            "projection and may be aliased."
        )
    return message


def _join_expressions(key: tuple[KeyPart, ...]) -> tuple[str, list[str], list[str]]:
    shown = [format_expression(each) for each in key[0].expressions]
    return _plural("join expression", shown), shown, shown[:1]


def _missing_primary_key(
    relation: JoinedSources, key: tuple[KeyPart, ...], found: dict[int, Selected]
) -> str:
    missing = [
        each.name
        for index, part in enumerate(key)
        if index not in found and isinstance(each := part.expressions[0], ColumnReference)
    ]
    left = relation.left
    while isinstance(left, JoinedSources):
        left = left.left
    return (
        f"{_plural('Primary key column', missing)} missing in projection. For foreign-key "
        "table-table joins, the projection must include all primary key columns from the left "
        f"input table (`{left.alias}`). {_plural('Missing column', missing)}: "
        f"{', '.join(f'`{name}`' for name in missing)}."
    )


def _plural(word: str, items: list[str]) -> str:
    return word if len(items) == 1 else f"{word}s"


def _listed(items: list[str], word: str) -> str:
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"
