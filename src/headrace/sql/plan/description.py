"""Steps as text, as EXPLAIN shows them."""

from __future__ import annotations

from headrace.sql.plan.steps import (
    AggregateStep,
    FilterStep,
    FlatMapStep,
    ForeignKeyJoinStep,
    JoinStep,
    ProjectStep,
    ReformatStep,
    RekeyStep,
    SourceStep,
    Step,
)
from headrace.sql.schema import Schema
from headrace.sql.syntax.formatter import format_expression

_KINDS: dict[type[Step], str] = {
    SourceStep: "SOURCE",
    FilterStep: "FILTER",
    FlatMapStep: "FLAT_MAP",
    RekeyStep: "REKEY",
    ReformatStep: "REPARTITION",
    JoinStep: "JOIN",
    ForeignKeyJoinStep: "FOREIGN_KEY_JOIN",
    AggregateStep: "AGGREGATE",
    ProjectStep: "PROJECT",
}


def describe(step: Step, query_id: str, depth: int = 0) -> str:
    """A step, and below it those that it gets records from."""
    schema = Schema(step.key, step.row)
    line = (
        f"{'  ' * depth} > [ {_KINDS[type(step)]} ] | Schema: {schema} | "
        f"Logger: {query_id}.{step.name}{_detail(step)}\n"
    )
    return line + "".join(describe(each, query_id, depth + 1) for each in _inputs(step))


def _inputs(step: Step) -> tuple[Step, ...]:
    match step:
        case JoinStep() | ForeignKeyJoinStep():
            return step.left, step.right
        case SourceStep():
            return ()
        case (
            FilterStep()
            | FlatMapStep()
            | RekeyStep()
            | ReformatStep()
            | AggregateStep()
            | ProjectStep()
        ):
            return (step.input,)
        case _:
            raise TypeError(f"There is nothing to say about a {type(step).__name__}")


def _detail(step: Step) -> str:
    match step:
        case SourceStep():
            return f" | Topic: {step.source.source.topic}"
        case FilterStep():
            return f" | Condition: {format_expression(step.condition)}"
        case JoinStep():
            return f" | Kind: {step.kind.value}"
        case AggregateStep():
            groups = ", ".join(map(format_expression, step.group_by))
            calls = ", ".join(map(format_expression, step.calls))
            return f" | Groups: {groups} | Aggregates: {calls}"
        case _:
            return ""
