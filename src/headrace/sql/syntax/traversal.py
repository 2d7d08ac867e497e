"""Going through expressions, and changing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from headrace.sql.syntax.ast import Expression, Node

N = TypeVar("N", bound=Node)


def children(expression: Node) -> Iterator[Expression]:
    """The expressions directly in it."""
    for name in expression.__dataclass_fields__:
        yield from _expressions(getattr(expression, name))


def walk(expression: Expression) -> Iterator[Expression]:
    """It and all expressions in it, from outside to inside, from left to right."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def rewrite(node: N, change: Callable[[Expression], Expression | None]) -> N:
    """A copy in which all expressions for which `change` gives another are replaced by that. What
    was replaced isn't looked into."""
    if isinstance(node, Expression):
        changed: Any = change(node)
        if changed is not None:
            return changed  # type: ignore[no-any-return]
    new = {
        name: rewritten
        for name in node.__dataclass_fields__
        if (rewritten := _rewritten(old := getattr(node, name), change)) is not old
    }
    return replace(node, **new) if new else node


def _expressions(part: object) -> Iterator[Expression]:
    if isinstance(part, Expression):
        yield part
    elif isinstance(part, Node):
        yield from children(part)
    elif isinstance(part, tuple):
        for item in part:
            yield from _expressions(item)


def _rewritten(part: Any, change: Callable[[Expression], Expression | None]) -> Any:
    if isinstance(part, Node):
        return rewrite(part, change)
    if isinstance(part, tuple) and any(isinstance(item, Node | tuple) for item in part):
        new = tuple(_rewritten(item, change) for item in part)
        return new if any(a is not b for a, b in zip(new, part, strict=True)) else part
    return part
