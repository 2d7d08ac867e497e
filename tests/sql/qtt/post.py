"""What must hold at the end of a case, besides the records."""

from __future__ import annotations

import json
import re
from typing import Any

from headrace.sql.formats import FormatInfo, RowFormat, subject
from headrace.sql.metastore import DataSource
from headrace.sql.schema import Column, HeaderColumn, Schema
from headrace.sql.syntax.ast import ColumnKind
from headrace.sql.syntax.parser import parse_columns
from headrace.testing.sql import Rehearsal


def check_post(post: dict[str, Any], run: Rehearsal) -> list[str]:
    """What doesn't hold."""
    found = []
    for expected in post.get("sources", ()):
        reasons = [_source_difference(expected, source) for source in run.engine.metastore]
        if None not in reasons:
            close = [reason for reason in reasons if reason]
            found.append(f"source {expected['name']}: {'; '.join(close) or 'it is not there'}")
    topics = post.get("topics") or {}
    blacklist = topics.get("blacklist")
    names = {*run.log, *run.internal_topics, *(topic.name for topic in run.topics)}
    if blacklist is not None:
        found += [f"there is a topic {name}" for name in names if re.search(blacklist, name)]
    for expected in topics.get("topics", ()):
        if not expected["name"].startswith("_confluent-ksql-"):
            reason = _topic_difference(expected, run)
            if reason is not None:
                found.append(f"topic {expected['name']}: {reason}")
    return found


def _source_difference(expected: dict[str, Any], source: DataSource) -> str | None:
    """Why a source isn't the expected one: an empty text if it is quite another."""
    if source.name != expected["name"] or source.kind.value != expected["type"].upper():
        return ""
    if "schema" in expected and (wanted := _schema(expected["schema"])) != source.schema:
        return f"the schema is {source.schema}, not {wanted}"
    if "keyFormat" in expected:
        wanted_format = expected["keyFormat"]
        window = source.window
        actual = (
            source.key_format.info.name,
            window.kind.value if window else None,
            window.size_ms if window else None,
        )
        wanted_key = (
            wanted_format["format"],
            wanted_format.get("windowType"),
            wanted_format.get("windowSize"),
        )
        if actual != wanted_key:
            return f"the key format is {actual}, not {wanted_key}"
    if expected.get("valueFormat", source.value_format.info.name) != source.value_format.info.name:
        return f"the value format is {source.value_format.info.name}"
    for member, rows in (
        ("keyFeatures", source.key_format),
        ("valueFeatures", source.value_format),
    ):
        if member in expected and sorted(expected[member]) != sorted(rows.features):
            return f"{member} are {sorted(rows.features)}, not {expected[member]}"
    if expected.get("isSource", source.read_only) != source.read_only:
        return f"isSource is {source.read_only}"
    return None


def _schema(text: str) -> Schema:
    parts: dict[ColumnKind, list[Any]] = {kind: [] for kind in ColumnKind}
    for column in parse_columns(text):
        made = (
            HeaderColumn(column.name, column.type, column.header)
            if column.kind is ColumnKind.HEADERS
            else Column(column.name, column.type)
        )
        parts[column.kind].append(made)
    return Schema(
        tuple(parts[ColumnKind.KEY] + parts[ColumnKind.PRIMARY_KEY]),
        tuple(parts[ColumnKind.VALUE]),
        tuple(parts[ColumnKind.HEADERS]),
    )


def _topic_difference(expected: dict[str, Any], run: Rehearsal) -> str | None:
    name = expected["name"]
    topic = run.topics.find(name)
    source = run.source_of(name)
    if topic is None or source is None:
        return "it is not there"
    if expected.get("partitions", topic.partitions) != topic.partitions:
        return f"it has {topic.partitions} partitions"
    for role, rows in (("key", source.key_format), ("value", source.value_format)):
        wanted = expected.get(f"{role}Format", {})
        actual = _format(rows)
        if {**_NO_FORMAT, **wanted} != {**_NO_FORMAT, **actual}:
            return f"the {role} format is {actual}, not {wanted}"
        schema = expected.get(f"{role}Schema")
        if schema is None:
            continue
        latest = run.registry.latest(subject(name, is_key=role == "key"))
        if latest is None:
            return f"there is no {role} schema"
        text = latest.schema.text
        same = (
            text.split() == schema.split()
            if latest.schema.kind == "PROTOBUF"
            else json.loads(text) == schema
        )
        if not same:
            return f"the {role} schema is {text}, not {schema}"
    return None


_NO_FORMAT: dict[str, Any] = {"properties": {}, "features": []}


def _format(rows: RowFormat) -> dict[str, Any]:
    info: FormatInfo = rows.info
    return {
        "format": info.name,
        "properties": dict(info.properties),
        "features": sorted(rows.features),
    }
