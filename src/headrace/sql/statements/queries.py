"""CREATE … AS SELECT and INSERT INTO … SELECT: statements that start queries."""

from __future__ import annotations

from dataclasses import replace

from headrace.dsl import StreamsBuilder
from headrace.sql.analysis.analyzer import analyse
from headrace.sql.analysis.query import ResolvedQuery
from headrace.sql.building.builder import QueryBuilder
from headrace.sql.building.materializing import materialization
from headrace.sql.building.serdes import Serdes
from headrace.sql.definition import check_timestamp, wrap_by_default
from headrace.sql.errors import SqlError
from headrace.sql.formats import (
    FormatInfo,
    RowFormat,
    check,
    check_physical_schema,
    key_features,
    key_info_of,
    register,
    value_features,
)
from headrace.sql.metastore import DataSource
from headrace.sql.plan.planner import PlannedQuery, Planner
from headrace.sql.plan.typing import Typing
from headrace.sql.properties import CREATE_AS, INSERT_INTO, SourceProperties
from headrace.sql.queries import PersistentQuery, QueryKind
from headrace.sql.schema import Schema
from headrace.sql.statements.inserts import can_become
from headrace.sql.statements.outcome import Done, Outcome
from headrace.sql.statements.session import Session
from headrace.sql.statements.sources import check_evolution, check_replacement
from headrace.sql.statements.upgrade import check_upgrade
from headrace.sql.syntax.ast import Cast, CreateAsSelect, InsertInto, Query, SourceKind
from headrace.sql.topics import TopicInfo

TOPIC_PREFIX = "ksql.output.topic.name.prefix"


def create_as_select(session: Session, statement: CreateAsSelect, sql: str) -> Outcome:
    kind = statement.kind.value.lower()
    existing = session.metastore.find(statement.name)
    check_replacement(existing, statement)
    if existing is not None and statement.if_not_exists:
        return Done(
            f"Cannot add {kind} `{statement.name}`: A {kind} with the same name already exists."
        )
    properties = SourceProperties.read(statement.properties, CREATE_AS)
    _check_limit(statement.query, f"CREATE {statement.kind.value} AS SELECT")
    query = analyse(statement.query, session.metastore)
    left_most = query.sources[0].source
    key_format = (
        properties.format("KEY", left_most.key_format.info)
        if properties.format_name("KEY") is not None
        else None
    )
    planned = _planner(session, statement.name, key_format).plan(query)
    _check_kind(statement.kind, planned)
    sink = _sink(session, statement, planned, properties, query, sql)
    if existing is not None:
        check_evolution(existing, sink)
    old = _query_of(session, statement.name) if existing is not None else None
    if old is not None and old.step is not None:
        check_upgrade(statement.name, old.step, planned.step)
    prefix = "CTAS" if statement.kind is SourceKind.TABLE else "CSAS"
    query_id = old.id if old is not None else session.next_query_id(f"{prefix}_{statement.name}")
    started = _built(session, query_id, QueryKind.CREATE_AS, query, planned, sink, sql)
    _ensure_topic(session, sink, left_most, properties)
    register(sink.key_format, sink.topic, session.registrar)
    register(sink.value_format, sink.topic, session.registrar)
    session.metastore.sources[sink.name] = sink
    session.start(started)
    return started


def insert_into(session: Session, statement: InsertInto, sql: str) -> Outcome:
    properties = SourceProperties.read(statement.properties, INSERT_INTO)
    sink = session.metastore.find(statement.target)
    if sink is None:
        raise SqlError(
            f"Source {statement.target} does not exist.{session.metastore.hint(statement.target)}"
        )
    if sink.is_table:
        raise SqlError(
            f"INSERT INTO can only be used to insert into a stream. {sink.name} is a table."
        )
    if sink.read_only:
        raise SqlError(f"Cannot insert into read-only stream: {sink.name}")
    if sink.schema.headers:
        raise SqlError(f"Cannot insert into {sink.name} because it has header columns")
    _check_limit(statement.query, "INSERT INTO")
    query = analyse(statement.query, session.metastore)
    planned = _planner(session, sink.name, sink.key_format.info).plan(query)
    planned = _fitted(planned, sink)
    given_id = properties.text("QUERY_ID")
    if given_id is not None and given_id.upper() in session.queries:
        raise SqlError(f"Query ID '{given_id.upper()}' already exists.")
    query_id = given_id.upper() if given_id else session.next_query_id("INSERTQUERY")
    started = _built(session, query_id, QueryKind.INSERT, query, planned, sink, sql)
    session.start(started)
    return started


def _check_limit(query: Query, what: str) -> None:
    if query.limit is not None:
        raise SqlError(f"{what} statements don't support LIMIT clause.")


def _planner(session: Session, sink: str, key_format: FormatInfo | None) -> Planner:
    return Planner(session.functions, session.settings, session.topics, sink, key_format)


def _check_kind(kind: SourceKind, planned: PlannedQuery) -> None:
    made = SourceKind.TABLE if planned.step.is_table else SourceKind.STREAM
    if made is not kind:
        raise SqlError(
            f"Invalid result type. Your SELECT query produces a {made.value}. "
            f"Please use CREATE {made.value} AS SELECT statement instead."
        )


def _fitted(planned: PlannedQuery, sink: DataSource) -> PlannedQuery:
    """The query with values cast to what the sink has, where that goes without saying."""
    result, wanted = planned.schema, Schema(sink.schema.key, sink.schema.value)
    if result == wanted:
        return planned
    fit = (
        result.key == wanted.key
        and len(result.value) == len(wanted.value)
        and all(
            one.name == other.name and can_become(one.type, other.type)
            for one, other in zip(result.value, wanted.value, strict=True)
        )
    )
    if not fit:
        raise SqlError(
            "Incompatible schema between results and sink.\n"
            f"Result schema is {result}\n"
            f"Sink schema is {wanted}"
        )
    step = planned.step
    expressions = tuple(
        each if one == other else Cast(each, other.type)
        for each, one, other in zip(step.expressions, result.value, wanted.value, strict=True)
    )
    step = replace(step, expressions=expressions, row=wanted.value)
    return PlannedQuery(step, wanted)


def _query_of(session: Session, sink: str) -> PersistentQuery | None:
    for query in session.queries.values():
        if query.kind is QueryKind.CREATE_AS and query.sink == sink:
            return query
    return None


def _sink(
    session: Session,
    statement: CreateAsSelect,
    planned: PlannedQuery,
    properties: SourceProperties,
    query: ResolvedQuery,
    sql: str,
) -> DataSource:
    schema = planned.schema
    key_info = key_info_of(statement.name, properties.format("KEY", planned.step.key_format))
    value_info = properties.format("VALUE", query.sources[0].source.value_format.info)
    key = RowFormat(key_info, schema.key, key_features(key_info, schema.key), is_key=True)
    check(key)
    features = value_features(
        value_info,
        schema.value,
        properties.wrap_single_value,
        wrap_by_default(session.settings),
    )
    value = RowFormat(value_info, schema.value, features)
    check(value)
    timestamp = properties.timestamp
    check_timestamp(timestamp, schema)
    prefix = session.settings.get(TOPIC_PREFIX, "")
    topic = properties.text("KAFKA_TOPIC") or f"{prefix}{statement.name}"
    check_physical_schema(key, topic, session.registry)
    check_physical_schema(value, topic, session.registry)
    return DataSource(
        name=statement.name,
        kind=statement.kind,
        schema=schema,
        topic=topic,
        key_format=key,
        value_format=value,
        window=planned.window,
        timestamp=timestamp,
        sql=sql,
        from_query=True,
    )


def _ensure_topic(
    session: Session, sink: DataSource, left_most: DataSource, properties: SourceProperties
) -> None:
    """The sink's topic is as big as the left-most source's, unless it is there already or its size
    is given."""
    partitions, replicas = properties.number("PARTITIONS"), properties.number("REPLICAS")
    existing = session.topics.find(sink.topic)
    if existing is not None:
        if partitions not in (None, existing.partitions):
            raise SqlError(
                f"A Kafka topic with the name '{sink.topic}' already exists, with different "
                f"partition/replica configuration than required. KSQL expects {partitions} "
                f"partitions (topic has {existing.partitions}), and {replicas or existing.replicas}"
                f" replication factor (topic has {existing.replicas})."
            )
        return
    source = session.topics.find(left_most.topic)
    session.topics.create(
        TopicInfo(
            sink.topic,
            partitions or (source.partitions if source else 1),
            replicas or (source.replicas if source else 1),
            properties.topic_config(_cleanup_policy(sink)),
        )
    )


def _cleanup_policy(sink: DataSource) -> str:
    """Tables are kept, windows of tables until they are old, streams until they are old."""
    if not sink.is_table:
        return "delete"
    return "compact" if sink.window is None else "compact,delete"


def _built(
    session: Session,
    query_id: str,
    kind: QueryKind,
    query: ResolvedQuery,
    planned: PlannedQuery,
    sink: DataSource,
    sql: str,
) -> PersistentQuery:
    application_id = session.application_id(query_id)
    settings = session.streams_settings(query_id)
    builder = QueryBuilder(
        query_id,
        Typing(session.functions, session.settings),
        Serdes(session.registry, application_id),
        settings,
        StreamsBuilder(),
    )
    topology = builder.build(planned.step, sink)
    return PersistentQuery(
        query_id,
        kind,
        sql,
        tuple(each.source.name for each in query.sources),
        tuple(each.source.topic for each in query.sources),
        sink.name,
        sink.topic,
        topology,
        application_id,
        settings,
        materialization(builder, planned.step, sink) if planned.step.is_table else None,
        planned.step,
    )
