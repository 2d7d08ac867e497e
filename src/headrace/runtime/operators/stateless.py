"""Operators that look at one record at a time, and remember nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TextIO

from headrace.core.arguments import shown
from headrace.core.errors import ArgumentError, require
from headrace.runtime.context import Process
from headrace.runtime.operator import OperatorNode, compiles
from headrace.topology.operators import (
    Branch,
    Filter,
    FlatMap,
    FlatMapValues,
    Foreach,
    Map,
    MapValues,
    PassThrough,
    Peek,
    Print,
    RepartitionFilter,
    SelectKey,
)


@compiles(Filter)
def compile_filter(operator: Filter, node: OperatorNode) -> Process:
    predicate, forward, failed = operator.predicate, node.forward, node.failed
    node.guards_itself = True

    def keep(key: Any, value: Any) -> None:
        try:
            if predicate(key, value):
                forward(key, value)
        except Exception as error:
            failed(key, value, error)

    def keep_others(key: Any, value: Any) -> None:
        try:
            if not predicate(key, value):
                forward(key, value)
        except Exception as error:
            failed(key, value, error)

    return keep_others if operator.negate else keep


@compiles(RepartitionFilter)
def compile_repartition_filter(operator: RepartitionFilter, node: OperatorNode) -> Process:
    forward = node.forward

    def process(key: Any, value: Any) -> None:
        if key is not None:
            forward(key, value)

    return process


@compiles(MapValues)
def compile_map_values(operator: MapValues, node: OperatorNode) -> Process:
    mapper, forward, failed = operator.mapper, node.forward, node.failed
    node.guards_itself = True

    def by_value(key: Any, value: Any) -> None:
        try:
            forward(key, mapper(value))
        except Exception as error:
            failed(key, value, error)

    def by_key_and_value(key: Any, value: Any) -> None:
        try:
            forward(key, mapper(key, value))
        except Exception as error:
            failed(key, value, error)

    return by_key_and_value if operator.with_key else by_value


@compiles(Map)
def compile_map(operator: Map, node: OperatorNode) -> Process:
    mapper, forward = operator.mapper, node.forward

    def process(key: Any, value: Any) -> None:
        pair = mapper(key, value)
        if pair is None:
            require(pair, f"What the mapper of {node.name} returns")
        try:
            new_key, new_value = pair
        except (TypeError, ValueError):
            raise _not_a_pair(node, pair) from None
        forward(new_key, new_value)

    return process


@compiles(SelectKey)
def compile_select_key(operator: SelectKey, node: OperatorNode) -> Process:
    selector, forward, failed = operator.selector, node.forward, node.failed
    node.guards_itself = True

    def process(key: Any, value: Any) -> None:
        try:
            forward(selector(key, value), value)
        except Exception as error:
            failed(key, value, error)

    return process


@compiles(FlatMap)
def compile_flat_map(operator: FlatMap, node: OperatorNode) -> Process:
    mapper, forward = operator.mapper, node.forward

    def process(key: Any, value: Any) -> None:
        pairs = mapper(key, value)
        if pairs is None:
            require(pairs, f"What the mapper of {node.name} returns")
        for pair in pairs:
            try:
                new_key, new_value = pair
            except (TypeError, ValueError):
                raise _not_a_pair(node, pair) from None
            forward(new_key, new_value)

    return process


@compiles(FlatMapValues)
def compile_flat_map_values(operator: FlatMapValues, node: OperatorNode) -> Process:
    mapper, forward, with_key = operator.mapper, node.forward, operator.with_key

    def process(key: Any, value: Any) -> None:
        values = mapper(key, value) if with_key else mapper(value)
        if values is None:
            require(values, f"What the mapper of {node.name} returns")
        for new_value in values:
            forward(key, new_value)

    return process


@compiles(Peek)
def compile_peek(operator: Peek, node: OperatorNode) -> Process:
    action, forward = operator.action, node.forward

    def process(key: Any, value: Any) -> None:
        action(key, value)
        forward(key, value)

    return process


@compiles(Foreach)
def compile_foreach(operator: Foreach, node: OperatorNode) -> Process:
    action = operator.action

    def process(key: Any, value: Any) -> None:
        action(key, value)

    return process


@compiles(Branch)
def compile_branch(operator: Branch, node: OperatorNode) -> Process:
    children = [node.children[name] for name in operator.children]
    predicates = operator.predicates
    branches = list(zip(predicates, children, strict=False))
    default = children[len(predicates)] if len(children) > len(predicates) else None

    def process(key: Any, value: Any) -> None:
        for predicate, branch in branches:
            if predicate(key, value):
                branch(key, value)
                return
        if default is not None:
            default(key, value)

    return process


@compiles(PassThrough)
def compile_pass_through(operator: PassThrough, node: OperatorNode) -> Process:
    return node.forward


@compiles(Print)
def compile_print(operator: Print, node: OperatorNode) -> Process:
    label, mapper = operator.label, operator.mapper or _key_and_value
    write = _writer(operator.file, node)

    def process(key: Any, value: Any) -> None:
        write(f"[{label}]: {mapper(key, value)}")

    return process


def _key_and_value(key: Any, value: Any) -> str:
    return f"{key}, {value}"


def _writer(file: str | TextIO | None, node: OperatorNode) -> Callable[[str], None]:
    """Writes lines. A file that is named is open from the beginning of the task to its end; a
    stream is left open, and flushed at every line, as somebody may be watching it."""
    if not isinstance(file, str):
        return lambda line: print(line, file=file, flush=True)
    files = ExitStack()
    opened: TextIO

    def open_file() -> None:
        nonlocal opened
        opened = files.enter_context(open(file, "a", encoding="utf-8"))  # noqa: SIM115

    node.on_init.append(open_file)
    node.on_close.append(files.close)
    return lambda line: print(line, file=opened)


def _not_a_pair(node: OperatorNode, result: Any) -> ArgumentError:
    return ArgumentError(
        f"The mapper of {node.name} must give (key, value) pairs, but gave {shown(result)}"
    )
