"""The topics and schemas that are there before the first statement."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace.core.hash_order import grown_set_order
from headrace.sql.errors import SqlError
from headrace.sql.formats import (
    InMemorySchemaRegistry,
    Reference,
    RowFormat,
    SchemaText,
    format_info,
    key_features,
    key_info_of,
    schema_of_columns,
    subject,
    value_features,
)
from headrace.sql.schema import Column
from headrace.sql.syntax.ast import ColumnKind, CreateSource, Statement
from headrace.sql.topics import TopicInfo
from headrace.testing.sql import Rehearsal

from .cases import Case

_DEFAULT_PARTITIONS = 4


@dataclass
class _Topic:
    name: str
    partitions: int = _DEFAULT_PARTITIONS
    replicas: int = 1
    schemas: dict[str, tuple[SchemaText, int | None]] = field(default_factory=dict)
    """By subject; the id if one is given."""


def prepare(case: Case, statements: Iterable[Statement], rehearsal: Rehearsal) -> None:
    """Create the topics of a case, and register its schemas."""
    registry = rehearsal.registry
    found: dict[str, _Topic] = {}
    for definition in case.topics:
        _add(found, _defined(definition, registry))
    for statement in statements:
        if isinstance(statement, CreateSource) and statement.columns:
            _add(found, _declared(statement, case))
    for record in (*case.inputs, *case.outputs):
        _add(found, _Topic(record["topic"]))
    for name in grown_set_order(found):  # so ids are given in Java's order
        topic = found[name]
        rehearsal.topics.create(TopicInfo(topic.name, topic.partitions, topic.replicas))
        for key, (schema, id) in topic.schemas.items():
            registry.register(key, schema, id)


def _add(found: dict[str, _Topic], topic: _Topic) -> None:
    known = found.setdefault(topic.name, topic)
    for name, schema in topic.schemas.items():
        known.schemas.setdefault(name, schema)


def _defined(definition: dict[str, Any], registry: InMemorySchemaRegistry) -> _Topic:
    name = definition["name"]
    topic = _Topic(name, definition.get("partitions", 1), definition.get("replicas", 1))
    for role in ("key", "value"):
        schema = definition.get(f"{role}Schema")
        if schema is None:
            continue
        kind = _kind(definition.get(f"{role}Format"))
        references = []
        for reference in definition.get(f"{role}SchemaReferences", ()):
            text = _schema_text(reference["schema"], _kind(reference.get("format")))
            registry.register(reference["name"], text)
            references.append(Reference(reference["name"], reference["name"], 1))
        text = _schema_text(schema, kind, tuple(references))
        id = definition.get(f"{role}SchemaId")
        topic.schemas[subject(name, is_key=role == "key")] = (text, id)
    return topic


def _kind(format: str | None) -> str:
    return {None: "AVRO", "JSON_SR": "JSON"}.get(format, str(format).upper())


def _schema_text(schema: Any, kind: str, references: tuple[Reference, ...] = ()) -> SchemaText:
    text = schema if kind == "PROTOBUF" else json.dumps(schema, default=str)
    return SchemaText(kind, text, references)


def _declared(statement: CreateSource, case: Case) -> _Topic:
    """The topic of a CREATE with columns. What is wrong with it, the engine will say."""
    given = {name: literal.value for name, literal in statement.properties}
    topic = _Topic(
        str(given.get("KAFKA_TOPIC", statement.name)),
        int(given.get("PARTITIONS", _DEFAULT_PARTITIONS)),
        int(given.get("REPLICAS", 1)),
    )
    for is_key in (True, False):
        try:
            rows = _rows(statement, given, case, is_key=is_key)
            if rows is not None:
                text = schema_of_columns(rows)
                topic.schemas[subject(topic.name, is_key=is_key)] = (text, None)
        except (SqlError, KeyError):
            continue
    return topic


def _rows(
    statement: CreateSource, given: dict[str, Any], case: Case, *, is_key: bool
) -> RowFormat | None:
    kinds = (ColumnKind.KEY, ColumnKind.PRIMARY_KEY) if is_key else (ColumnKind.VALUE,)
    columns = tuple(Column(c.name, c.type) for c in statement.columns if c.kind in kinds)
    role = "KEY" if is_key else "VALUE"
    default = case.properties.get(f"ksql.persistence.default.format.{role.lower()}")
    name = given.get("FORMAT", given.get(f"{role}_FORMAT", default))
    if name is None or not columns:
        return None
    full_name = given.get(f"{role}_SCHEMA_FULL_NAME", given.get(f"{role}_AVRO_SCHEMA_FULL_NAME"))
    info = format_info(name, full_schema_name=full_name)
    if is_key:
        info = key_info_of(statement.name, info)
    if not info.format.schemas:
        return None
    if is_key:
        return RowFormat(info, columns, key_features(info, columns), is_key=True)
    wrap = given.get("WRAP_SINGLE_VALUE")
    return RowFormat(info, columns, value_features(info, columns, wrap))
