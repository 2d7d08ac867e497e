"""ASSERT TOPIC and ASSERT SCHEMA: what must be there before a script goes on."""

from __future__ import annotations

from headrace.sql.errors import SqlError
from headrace.sql.statements.outcome import Done, Outcome
from headrace.sql.statements.session import Session
from headrace.sql.syntax.ast import AssertSchema, AssertTopic


def assert_topic(session: Session, statement: AssertTopic, sql: str) -> Outcome:
    """Once: to wait for it is up to who runs statements."""
    topic = session.topics.find(statement.name)
    if not statement.exists:
        if topic is not None:
            raise SqlError(f"Topic {statement.name} exists")
        return Done(f"Topic {statement.name} does not exist.")
    if topic is None:
        raise SqlError(f"Topic {statement.name} does not exist")
    actual = {"PARTITIONS": topic.partitions, "REPLICAS": topic.replicas}
    for name, literal in statement.properties:
        if name not in actual:
            raise SqlError(f"Cannot assert unknown topic property: {name.lower()}")
        if actual[name] != literal.value:
            raise SqlError(
                f"Mismatched configuration for topic {statement.name}: For config "
                f"{name.lower()}, expected {literal.value} got {actual[name]}"
            )
    return Done(f"Topic {statement.name} exists.")


def assert_schema(session: Session, statement: AssertSchema, sql: str) -> Outcome:
    """Once, as assert_topic."""
    shown = " ".join(
        part
        for part in (
            "Schema with",
            f"subject name {statement.subject}" if statement.subject is not None else "",
            f"id {statement.id}" if statement.id is not None else "",
        )
        if part
    )
    registry = session.registry
    found = registry is not None
    if registry is not None and statement.subject is not None:
        latest = registry.latest(statement.subject)
        found = latest is not None and statement.id in (None, latest.id)
    elif registry is not None and statement.id is not None:
        found = registry.by_id(statement.id) is not None
    if found != statement.exists:
        raise SqlError(f"{shown} {'exists' if found else 'does not exist'}")
    return Done(f"{shown} {'exists' if found else 'does not exist'}.")
