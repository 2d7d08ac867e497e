"""CREATE, DROP and ALTER of streams and tables, and CREATE and DROP of types."""

from __future__ import annotations

from dataclasses import replace

from headrace.dsl import Materialized, StreamsBuilder
from headrace.sql.analysis.sources import QuerySource
from headrace.sql.building.builder import QueryBuilder
from headrace.sql.building.serdes import Serdes
from headrace.sql.definition import declared_schema, define_source
from headrace.sql.errors import SqlError
from headrace.sql.formats import RowFormat, check, register, subject
from headrace.sql.materialization import Materialization
from headrace.sql.metastore import DataSource
from headrace.sql.named_types import resolved_type
from headrace.sql.plan.steps import SourceStep
from headrace.sql.plan.typing import Typing
from headrace.sql.properties import CREATE, SourceProperties
from headrace.sql.queries import PersistentQuery, QueryKind
from headrace.sql.schema import Schema
from headrace.sql.statements.outcome import Done, Outcome
from headrace.sql.statements.session import Session
from headrace.sql.syntax.ast import (
    AlterSource,
    CreateAsSelect,
    CreateSource,
    CreateType,
    DropSource,
    DropType,
)
from headrace.sql.topics import TopicInfo


def create_source(session: Session, statement: CreateSource, sql: str) -> Outcome:
    kind = statement.kind.value.lower()
    existing = session.metastore.find(statement.name)
    check_replacement(existing, statement, read_only=statement.read_only)
    if existing is not None and statement.if_not_exists:
        return Done(
            f"Cannot add {kind} `{statement.name}`: A {kind} with the same name already exists."
        )
    source = define_source(
        statement, session.metastore.types, session.settings, session.registry, sql
    )
    if existing is not None:
        check_evolution(existing, source)
    _ensure_topic(session, source, statement)
    register(source.key_format, source.topic, session.registrar)
    register(source.value_format, source.topic, session.registrar)
    session.metastore.sources[source.name] = source
    if source.read_only and source.is_table:
        return _materialize(session, source, sql)
    return Done(f"{kind.capitalize()} created")


def check_replacement(
    existing: DataSource | None,
    statement: CreateSource | CreateAsSelect,
    *,
    read_only: bool = False,
) -> None:
    """Raise SqlError if a source can't be made, because of one of its name."""
    name, kind = statement.name, statement.kind.value.lower()
    if statement.or_replace and (read_only or (existing is not None and existing.read_only)):
        raise SqlError(
            f"Cannot add {kind} '{name}': CREATE OR REPLACE is not supported on source {kind}s."
        )
    if existing is None or statement.if_not_exists:
        return
    if not statement.or_replace or existing.kind is not statement.kind:
        found = existing.kind.value.lower()
        raise SqlError(f"Cannot add {kind} '{name}': A {found} with the same name already exists")


def check_evolution(old: DataSource, new: DataSource) -> None:
    """Raise SqlError if a source can't take the place of another: columns may be added behind,
    and nothing else may change."""
    problem = f"Cannot upgrade data source: DataSource '{new.name}'"
    if old.topic != new.topic:
        raise SqlError(
            f"{problem} has kafkaTopicName = {old.topic} which is not upgradeable to {new.topic}"
        )
    if old.schema.key != new.schema.key:
        raise SqlError(
            f"{problem} has schema = {old.schema} which is not upgradeable to {new.schema}. "
            "(The following key columns are changed, missing or reordered: "
            f"[{', '.join(f'{c} KEY' for c in old.schema.key if c not in new.schema.key)}])"
        )
    changed = [
        column
        for index, column in enumerate(old.schema.value)
        if new.schema.value[index : index + 1] != (column,)
    ]
    if changed:
        raise SqlError(
            f"{problem} has schema = {old.schema} which is not upgradeable to {new.schema}. "
            "(The following columns are changed, missing or reordered: "
            f"[{', '.join(map(str, changed))}])"
        )


def _ensure_topic(session: Session, source: DataSource, statement: CreateSource) -> None:
    if session.topics.find(source.topic) is not None:
        return
    properties = SourceProperties.read(statement.properties, CREATE)
    partitions = properties.number("PARTITIONS")
    if partitions is None:
        raise SqlError(
            f"Topic '{source.topic}' does not exist. If you want to create a new topic for the "
            "stream/table please re-run the statement providing the required 'PARTITIONS' "
            "configuration in the WITH clause (and optionally 'REPLICAS'). For example: "
            "PARTITIONS=2, REPLICAS=1"
        )
    replicas = properties.number("REPLICAS") or 1
    config = properties.topic_config("compact" if source.is_table else "delete")
    session.topics.create(TopicInfo(source.topic, partitions, replicas, config))


def _materialize(session: Session, source: DataSource, sql: str) -> PersistentQuery:
    """A source table is kept by a query of its own, so that it can be looked up."""
    query_id = session.next_query_id(f"CST_{source.name}")
    application_id = session.application_id(query_id)
    serdes = Serdes(session.registry, application_id)
    builder = StreamsBuilder()
    store = "KsqlTopic-Reduce"
    _read_table(session, query_id, source, serdes, builder, store)
    query = PersistentQuery(
        query_id,
        QueryKind.CREATE_SOURCE,
        sql,
        (source.name,),
        (source.topic,),
        None,
        None,
        builder.build(),
        application_id,
        session.streams_settings(query_id),
        Materialization(store, lambda key, row: row),
    )
    session.start(query)
    return query


def _read_table(
    session: Session,
    query_id: str,
    source: DataSource,
    serdes: Serdes,
    builder: StreamsBuilder,
    store: str,
) -> None:
    if not source.schema.headers:
        key, value = serdes.source_key(source), serdes.source_value(source)
        builder.table(source.topic, Materialized(store, key=key, value=value))
        return
    step = SourceStep(
        source=QuerySource(source.name, source),
        extras=source.schema.headers,
        key=source.schema.key,
        row=(*source.schema.value, *source.schema.headers),
        is_table=True,
        key_format=source.key_format.info,
        name=store.removesuffix("-Reduce"),
    )
    typing = Typing(session.functions, session.settings)
    QueryBuilder(query_id, typing, serdes, {}, builder).flow(step)


def drop_source(session: Session, statement: DropSource, sql: str) -> Outcome:
    name, kind = statement.name, statement.kind
    source = session.metastore.find(name)
    if source is None:
        if statement.if_exists:
            return Done(f"Source `{name}` does not exist.")
        shown = kind.value.capitalize()
        raise SqlError(f"{shown} {name} does not exist.{session.metastore.hint(name)}")
    if source.kind is not kind:
        raise SqlError(
            f"Incompatible data source type is {source.kind.value}, but statement was "
            f"DROP {kind.value}"
        )
    if statement.delete_topic and source.read_only:
        raise SqlError(f"Cannot delete topic for read-only source: {name}")
    own = _own_query(session, source)
    _check_unused(session, name, own)
    if own is not None:
        del session.queries[own.id]
    if statement.delete_topic:
        session.topics.delete(source.topic)
        _forget_schemas(session, source)
    del session.metastore.sources[name]
    return Done(f"Source `{name}` (topic: {source.topic}) was dropped.")


def _forget_schemas(session: Session, source: DataSource) -> None:
    """Delete what the registry has for a topic, so that another topic of its name can have other
    schemas."""
    if session.registrar is None:
        return
    for rows in (source.key_format, source.value_format):
        if rows.info.format.schemas:
            session.registrar.delete(subject(source.topic, is_key=rows.is_key))


def _own_query(session: Session, source: DataSource) -> PersistentQuery | None:
    """The query that made a source, which ends with it."""
    for query in session.queries.values():
        made = query.kind is QueryKind.CREATE_AS and query.sink == source.name
        keeps = query.kind is QueryKind.CREATE_SOURCE and query.sources == (source.name,)
        if made or keeps:
            return query
    return None


def _check_unused(session: Session, name: str, own: PersistentQuery | None) -> None:
    others = [query for query in session.queries.values() if query is not own]
    readers = [query.id for query in others if name in query.sources]
    writers = [query.id for query in others if query.sink == name]
    if readers or writers:
        raise SqlError(
            f"Cannot drop {name}.\n"
            f"The following queries read from this source: [{', '.join(readers)}].\n"
            f"The following queries write into this source: [{', '.join(writers)}].\n"
            f"You need to terminate them before dropping {name}."
        )


def alter_source(session: Session, statement: AlterSource, sql: str) -> Outcome:
    name, kind = statement.name, statement.kind
    source = session.metastore.find(name)
    if source is None:
        raise SqlError(f"Source {name} does not exist.{session.metastore.hint(name)}")
    if source.kind is not kind:
        raise SqlError(
            f"Incompatible data source type is {source.kind.value}, but statement was "
            f"ALTER {kind.value}"
        )
    if source.from_query:
        raise SqlError("ALTER command is not supported for CREATE ... AS statements.")
    if source.read_only:
        shown = kind.value.lower()
        raise SqlError(
            f"Cannot alter {shown} '{name}': ALTER operations are not supported on source {shown}s."
        )
    added = declared_schema(statement.columns, session.metastore.types).value
    for column in added:
        if source.schema.find(column.name) is not None:
            raise SqlError(
                f"Cannot add column {column} to schema. A column with the same name already exists."
            )
    schema = Schema(source.schema.key, (*source.schema.value, *added), source.schema.headers)
    value = RowFormat(source.value_format.info, schema.value, source.value_format.features)
    check(value)
    session.metastore.sources[name] = replace(source, schema=schema, value_format=value, sql=sql)
    return Done(f"{kind.value.capitalize()} altered")


def create_type(session: Session, statement: CreateType, sql: str) -> Outcome:
    name = statement.name
    type_ = resolved_type(statement.type, session.metastore.types)
    if name in session.metastore.types:
        if statement.if_not_exists:
            return Done(f"{name} is already registered with type {type_}")
        raise SqlError(
            f"Cannot register custom type '{name}' since it is already registered with type: "
            f"{session.metastore.types[name]}"
        )
    session.metastore.types[name] = type_
    return Done(f"Registered custom type with name '{name}' and SQL type {type_}")


def drop_type(session: Session, statement: DropType, sql: str) -> Outcome:
    if session.metastore.types.pop(statement.name, None) is None:
        if not statement.if_exists:
            raise SqlError(f"Type {statement.name} does not exist.")
        return Done(f"Type '{statement.name}' does not exist")
    return Done(f"Dropped type '{statement.name}'")
