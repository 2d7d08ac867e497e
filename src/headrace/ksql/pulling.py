"""Answers pull queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice

from headrace.core.errors import HeadraceError
from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.ksql.cluster import Cluster
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.results import (
    LIMIT_REACHED,
    QUERY_COMPLETED,
    Closed,
    ResultStream,
    Row,
)
from headrace.ksql.running import Runner
from headrace.sql.building.log import ProcessingLog
from headrace.sql.building.serdes import Serdes
from headrace.sql.building.timestamps import time_of
from headrace.sql.formats import SchemaRegistry
from headrace.sql.metastore import DataSource
from headrace.sql.pull.query import Found, PullQuery

_POLL_S = 0.2


def pull_table(pull: PullQuery, runner: Runner) -> ResultStream[Row]:
    """The rows that a table has now, all of them at once."""
    query = pull.materialized_by
    assert query is not None, "the source is a table"
    assert query.materialization is not None, "planning refuses tables that have no store"
    found = runner.look_up(query.id, query.materialization.store, pull.answer, pull.keys)
    rows: ResultStream[Row] = ResultStream(capacity=len(found) + 1)
    for values in islice(found, pull.limit):
        rows.put(Row(values))
    rows.finish()
    return rows


def pull_stream(
    pull: PullQuery, cluster: Cluster, registry: SchemaRegistry | None
) -> ResultStream[Row]:
    """The rows of a stream from its beginning to where it ends now, as they are read."""
    rows: ResultStream[Row] = ResultStream()
    ends = cluster.ends([pull.source.topic])
    begins = cluster.begins([pull.source.topic])

    def run() -> None:
        try:
            found = _found(pull.source, _records(cluster, begins, ends), registry)
            count = 0
            for values in pull.results(found):
                rows.put(Row(values))
                count += 1
            limited = pull.limit is not None and count >= pull.limit
            rows.finish(LIMIT_REACHED if limited else QUERY_COMPLETED)
        except Closed:
            pass
        except HeadraceError as error:
            rows.fail(KsqlError(ErrorCode.SERVER_ERROR, str(error)))
        except Exception as error:
            message = f"The query failed ({type(error).__name__}): {error}"
            rows.fail(KsqlError(ErrorCode.SERVER_ERROR, message))

    threading.Thread(target=run, name="ksql-pull", daemon=True).start()
    return rows


def _records(
    cluster: Cluster, begins: dict[TopicPartition, int], ends: dict[TopicPartition, int]
) -> Iterator[ConsumerRecord]:
    """What was there, partition by partition as it comes."""
    missing = {part: end for part, end in ends.items() if end > begins[part]}
    if not missing:
        return
    reader = cluster.read({part: begins[part] for part in missing})
    try:
        while missing:
            for record in reader.poll(_POLL_S):
                partition = TopicPartition(record.topic, record.partition)
                if record.offset < ends[partition]:
                    yield record
            missing = {part: end for part, end in missing.items() if reader.positions[part] < end}
    finally:
        reader.close()


def _found(
    source: DataSource, records: Iterator[ConsumerRecord], registry: SchemaRegistry | None
) -> Iterator[Found]:
    serdes = Serdes(registry, "")
    key_serde, value_serde = serdes.source_key(source), serdes.source_value(source)
    log = ProcessingLog("pull", source.name)
    time: Callable[..., int | None] | None = None
    if source.timestamp is not None:
        time = time_of(source.timestamp, source.schema, log)
    for record in records:
        try:
            key = None if record.key is None else key_serde.deserialize(record.key)
            row = None if record.value is None else value_serde.deserialize(record.value)
            timestamp = record.timestamp if time is None else time(key, row)
        except Exception as error:
            log(f"{record.topic}-{record.partition}@{record.offset} can't be read: {error}", error)
            continue
        if timestamp is not None and timestamp >= 0:
            yield Found(key, row, timestamp, record.headers)
