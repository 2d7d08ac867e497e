"""Answers pull queries."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from headrace.core.errors import HeadraceError
from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.http.places import Places
from headrace.ksql.cluster import Cluster
from headrace.ksql.configuration import number
from headrace.ksql.errors import ErrorCode, KsqlError
from headrace.ksql.results import (
    LIMIT_REACHED,
    QUERY_COMPLETED,
    Closed,
    ResultStream,
    Row,
)
from headrace.ksql.running import Runner
from headrace.ksql.turns import TURNS
from headrace.sql.building.log import ProcessingLog
from headrace.sql.building.serdes import Serdes
from headrace.sql.building.timestamps import time_of
from headrace.sql.formats import SchemaRegistry
from headrace.sql.functions.sizes import weight
from headrace.sql.metastore import DataSource
from headrace.sql.pull.query import Found, PullQuery, Watch

LOOKUPS = "ksql.query.pull.max.concurrent.requests"
SCANS = "ksql.query.pull.max.concurrent.scans"
TIMEOUT = "ksql.query.pull.timeout.ms"
MEMORY = "ksql.query.pull.max.bytes"

_LOG = logging.getLogger("headrace.ksql")
_POLL_S = 0.2


class PullLimits:
    """How much pull queries may do: so many at once, and each for so long and for so much."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._lookups = Places(number(settings, LOOKUPS, 100))
        self._scans = Places(number(settings, SCANS, 4))
        self._timeout_s = number(settings, TIMEOUT, 30_000) / 1000
        self._most_bytes = number(settings, MEMORY, 64 * 1024 * 1024)

    @contextmanager
    def place(self, pull: PullQuery) -> Iterator[None]:
        """Be one of them. Raises KsqlError if there are too many."""
        leave = self.take(pull)
        try:
            yield
        finally:
            leave()

    def take(self, pull: PullQuery) -> Callable[[], None]:
        """Gives what is to be called at the end."""
        places, name = (self._scans, SCANS) if pull.keys is None else (self._lookups, LOOKUPS)
        if not places.take():
            raise KsqlError(
                ErrorCode.TOO_MANY_REQUESTS,
                f"There are {places.most} pull queries of this kind already ({name}). Try again.",
            )
        return places.leave

    def watch(self) -> Watch:
        """Ends what takes too long, by KsqlError."""
        deadline = time.monotonic() + self._timeout_s

        def watched(rows: Iterable[Found]) -> Iterator[Found]:
            for row in TURNS.each(rows):
                if time.monotonic() > deadline:
                    raise KsqlError(
                        ErrorCode.SERVER_ERROR,
                        f"The query was ended after {self._timeout_s:g} seconds ({TIMEOUT}). Ask "
                        "for less: for keys, or with a LIMIT.",
                    )
                yield row

        return watched

    def check_size(self, size: int) -> None:
        if size > self._most_bytes:
            raise KsqlError(
                ErrorCode.BAD_REQUEST,
                f"The answer has more than {self._most_bytes:,} bytes ({MEMORY}). Ask for less: "
                "for keys, or with a LIMIT.",
            )


def pull_table(pull: PullQuery, runner: Runner, limits: PullLimits) -> ResultStream[Row]:
    """The rows that a table has now, all of them at once. No more are read than are wanted."""
    query = pull.materialized_by
    assert query is not None, "the source is a table"
    assert query.materialization is not None, "planning refuses tables that have no store"
    watch, found, size = limits.watch(), 0, 0

    def find(store: Any) -> Iterator[Row]:
        nonlocal found, size
        if found == pull.limit:
            return
        with _turn(pull):
            for values in pull.answer(store, watch):
                found += 1
                size += weight(values)
                limits.check_size(size)
                yield Row(values)
                if found == pull.limit:
                    return

    with limits.place(pull):
        answer = runner.look_up(query.id, query.materialization.store, find, pull.keys)
    return ResultStream.of(answer)


def _turn(pull: PullQuery) -> AbstractContextManager[None]:
    """The turn, for a scan. To look keys up takes less time than to be called."""
    return TURNS.computing() if pull.keys is None else nullcontext()


def pull_stream(
    pull: PullQuery, cluster: Cluster, registry: SchemaRegistry | None, limits: PullLimits
) -> ResultStream[Row]:
    """The rows of a stream from its beginning to where it ends now, as they are read."""
    leave = limits.take(pull)
    try:
        ends = cluster.ends([pull.source.topic])
        begins = cluster.begins([pull.source.topic])
    except BaseException:
        leave()
        raise
    rows: ResultStream[Row] = ResultStream(weigh=_weight)

    def run() -> None:
        try:
            count = 0
            with TURNS.computing():
                records = TURNS.each(_records(cluster, begins, ends, rows))
                for values in pull.results(_found(pull.source, records, registry)):
                    rows.put(Row(values))
                    count += 1
            limited = pull.limit is not None and count >= pull.limit
            rows.finish(LIMIT_REACHED if limited else QUERY_COMPLETED)
        except Closed:
            pass
        except HeadraceError as error:
            rows.fail(KsqlError(ErrorCode.SERVER_ERROR, str(error)))
        except Exception as error:
            _LOG.exception("A pull query failed")
            message = f"The query failed ({type(error).__name__}). The server's log has more."
            rows.fail(KsqlError(ErrorCode.SERVER_ERROR, message))
        finally:
            leave()

    threading.Thread(target=run, name="ksql-pull", daemon=True).start()
    return rows


def _weight(row: Row) -> int:
    return weight(row.values)


def _records(
    cluster: Cluster,
    begins: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
    rows: ResultStream[Row],
) -> Iterator[ConsumerRecord]:
    """What was there, partition by partition as it comes, until nobody wants more of it."""
    missing = {part: end for part, end in ends.items() if end > begins[part]}
    if not missing:
        return
    reader = cluster.read({part: begins[part] for part in missing})
    try:
        while missing and not rows.ended:
            with TURNS.waiting():
                polled = reader.poll(_POLL_S)
            for record in polled:
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
    extract: Callable[..., int | None] | None = None
    if source.timestamp is not None:
        extract = time_of(source.timestamp, source.schema, log)
    for record in records:
        try:
            key = None if record.key is None else key_serde.deserialize(record.key)
            row = None if record.value is None else value_serde.deserialize(record.value)
            timestamp = record.timestamp if extract is None else extract(key, row)
        except Exception as error:
            log(f"{record.topic}-{record.partition}@{record.offset} can't be read: {error}", error)
            continue
        if timestamp is not None and timestamp >= 0:
            yield Found(key, row, timestamp, record.headers)
