"""SHOW and DESCRIBE of streams and tables."""

from __future__ import annotations

from typing import Any

from headrace.ksql.answers.context import Context
from headrace.ksql.answers.queries import query_json
from headrace.ksql.answers.schemas import fields_json
from headrace.ksql.entities import Entity
from headrace.sql.errors import SqlError
from headrace.sql.metastore import DataSource
from headrace.sql.queries import PersistentQuery
from headrace.sql.syntax import ast


def show_sources(context: Context, kind: ast.SourceKind, extended: bool, sql: str) -> Entity:
    """`SHOW STREAMS | TABLES`."""
    found = sorted(
        (source for source in context.engine.metastore if source.kind is kind),
        key=lambda source: source.name,
    )
    if extended:
        described = [source_json(context, source, extended=True) for source in found]
        return Entity("source_descriptions", sql, {"sourceDescriptions": described})
    name = "tables" if kind is ast.SourceKind.TABLE else "streams"
    return Entity(
        name,
        sql,
        {
            name: [
                {
                    "type": kind.value,
                    "name": source.name,
                    "topic": source.topic,
                    "keyFormat": source.key_format.info.name,
                    "valueFormat": source.value_format.info.name,
                    "isWindowed": source.window is not None,
                }
                for source in found
            ]
        },
    )


def describe_source(context: Context, statement: ast.DescribeSource, sql: str) -> Entity:
    """`DESCRIBE source`."""
    source = context.engine.metastore.find(statement.name)
    if source is None:
        raise SqlError(
            f"Could not find STREAM/TABLE '{statement.name}' in the Metastore"
            f"{context.engine.metastore.hint(statement.name)}"
        )
    described = source_json(context, source, extended=statement.extended)
    return Entity("sourceDescription", sql, {"sourceDescription": described})


def describe_all(context: Context, statement: ast.DescribeAll, sql: str) -> Entity:
    """`DESCRIBE STREAMS | TABLES`."""
    described = [
        source_json(context, source, extended=statement.extended)
        for source in sorted(context.engine.metastore, key=lambda source: source.name)
        if source.kind is statement.kind
    ]
    return Entity("source_descriptions", sql, {"sourceDescriptions": described})


def source_json(context: Context, source: DataSource, *, extended: bool) -> dict[str, Any]:
    queries = list(context.engine.queries.values())
    readers = [query for query in queries if source.name in query.sources]
    writers = [query for query in queries if query.sink == source.name]
    topic = context.cluster.topics.find(source.topic) if extended else None
    sinks = {query.sink for query in readers if query.sink not in (None, source.name)}
    return {
        "name": source.name,
        "windowType": None if source.window is None else source.window.kind.value,
        "readQueries": [query_json(context, query) for query in readers],
        "writeQueries": [query_json(context, query) for query in writers],
        "fields": fields_json(source.schema),
        "type": source.kind.value,
        "timestamp": "" if source.timestamp is None else source.timestamp.name,
        "statistics": "",
        "errorStats": "",
        "extended": extended,
        "keyFormat": source.key_format.info.name,
        "valueFormat": source.value_format.info.name,
        "topic": source.topic,
        "partitions": 0 if topic is None else topic.partitions,
        "replication": 0 if topic is None else topic.replicas,
        "statement": source.sql,
        "queryOffsetSummaries": _offsets(context, source, readers) if extended else [],
        "sourceConstraints": sorted(str(sink) for sink in sinks),
        "clusterStatistics": [],
        "clusterErrorStats": [],
    }


def _offsets(
    context: Context, source: DataSource, readers: list[PersistentQuery]
) -> list[dict[str, Any]]:
    begins = context.cluster.begins([source.topic])
    ends = context.cluster.ends([source.topic])
    return [
        {
            "groupId": query.application_id,
            "topicSummaries": [
                {
                    "kafkaTopic": source.topic,
                    "offsets": [
                        {
                            "partition": partition.partition,
                            "logStartOffset": begins[partition],
                            "logEndOffset": end,
                            "consumerOffset": 0,
                        }
                        for partition, end in sorted(ends.items())
                    ],
                }
            ],
        }
        for query in readers
    ]
