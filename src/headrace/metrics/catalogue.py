"""All metrics of an application, by what they are of. `docs/metrics.md` is made of this."""

from __future__ import annotations

from headrace.metrics.level import RecordingLevel
from headrace.metrics.sensor import (
    CACHE,
    CLIENT,
    CONSUMER,
    NODE,
    STATE_UPDATER,
    STORE,
    TASK,
    THREAD,
    TOPIC,
    Metric,
    Scope,
    Sensor,
    Stat,
)

_INFO, _DEBUG, _TRACE = RecordingLevel.INFO, RecordingLevel.DEBUG, RecordingLevel.TRACE
_MS = 1_000_000

SENSORS: dict[str, Sensor] = {}


def _sensor(
    scope: Scope, level: RecordingLevel, name: str, *metrics: Metric, divisor: int = 1
) -> Sensor:
    sensor = Sensor(f"{scope.word}.{name}", scope, level, metrics, divisor)
    SENSORS[sensor.key] = sensor
    return sensor


def _gauge(scope: Scope, name: str, what: str, level: RecordingLevel = _INFO) -> Sensor:
    return _sensor(scope, level, name, Metric(name, Stat.VALUE, what))


def _often(name: str, what: str) -> tuple[Metric, ...]:
    return (
        Metric(f"{name}-rate", Stat.RATE, f"{what}, a second"),
        Metric(f"{name}-total", Stat.TOTAL, f"{what}, since the start"),
    )


def _long(name: str, what: str, unit: str) -> tuple[Metric, ...]:
    return (
        Metric(f"{name}-avg", Stat.AVG, f"{what}: the average, in {unit}"),
        Metric(f"{name}-max", Stat.MAX, f"{what}: the longest, in {unit}"),
    )


def _extremes(name: str, what: str) -> tuple[Metric, ...]:
    return (
        Metric(f"{name}-avg", Stat.AVG, f"{what}: the average"),
        Metric(f"{name}-max", Stat.MAX, f"{what}: the largest"),
    )


def _latency_of_records(what: str) -> tuple[Metric, ...]:
    name = "record-e2e-latency"
    return (
        *_long(name, what, "ms"),
        Metric(f"{name}-min", Stat.MIN, f"{what}: the shortest, in ms"),
    )


def _ratio(name: str, what: str) -> Metric:
    return Metric(f"{name}-ratio", Stat.RATIO, f"The share of time that {what}")


# The application

CLIENT_INFO = {
    name: _gauge(CLIENT, name, what)
    for name, what in {
        "version": "The version of Headrace",
        "application-id": "The application's id",
        "topology-description": "The topology, as describe() tells it",
        "state": "What the application is doing",
        "client-state": "The same as a number: 0 CREATED, 1 REBALANCING, 2 RUNNING, "
        "3 PENDING_SHUTDOWN, 4 NOT_RUNNING, 5 PENDING_ERROR, 6 ERROR",
        "recording-level": "How much is recorded: 0 INFO, 1 DEBUG, 2 TRACE",
        "alive-stream-threads": "How many threads are at work",
        "failed-stream-threads": "How many threads have failed since the start",
    }.items()
}
RECORDS_LAG = _gauge(
    CONSUMER, "records-lag", "How many records of a partition were not processed when it was looked"
)

# Threads

THREAD_START_TIME = _gauge(
    THREAD, "thread-start-time", "When the thread was started, in ms since the epoch"
)
THREAD_STATE = _gauge(THREAD, "state", "What the thread is doing")
THREAD_STATE_NUMBER = _gauge(
    THREAD,
    "thread-state",
    "The same as a number: 0 CREATED, 3 PARTITIONS_ASSIGNED, 4 RUNNING, 5 PENDING_SHUTDOWN, 6 DEAD",
)
POLL = _sensor(
    THREAD,
    _INFO,
    "poll",
    *_long("poll-latency", "Waiting for the next records", "ms"),
    *_often("poll", "How often records came"),
    _ratio("poll", "the thread waits for records"),
    divisor=_MS,
)
POLL_RECORDS = _sensor(
    THREAD, _INFO, "poll-records", *_extremes("poll-records", "Records that came at once")
)
PROCESS = _sensor(
    THREAD,
    _INFO,
    "process",
    *_long("process-latency", "Processing records that came at once", "ms"),
    _ratio("process", "the thread processes"),
    divisor=_MS,
)
PROCESS_RECORDS = _sensor(
    THREAD,
    _INFO,
    "process-records",
    *_extremes("process-records", "Records that a thread processed in a batch"),
)
PROCESSED = _sensor(THREAD, _INFO, "processed", *_often("process", "Records processed"))
PUNCTUATE = _sensor(
    THREAD,
    _INFO,
    "punctuate",
    *_long("punctuate-latency", "Punctuations of a task by the wall clock", "ms"),
    *_often("punctuate", "Tasks punctuated by the wall clock"),
    _ratio("punctuate", "the thread punctuates"),
    divisor=_MS,
)
COMMIT = _sensor(
    THREAD,
    _INFO,
    "commit",
    *_long("commit-latency", "A commit, from flushing caches to state on disk", "ms"),
    *_often("commit", "Commits"),
    _ratio("commit", "the thread commits"),
    divisor=_MS,
)
TASK_CREATED = _sensor(
    THREAD, _INFO, "task-created", *_often("task-created", "Tasks that a process has taken up")
)
TASK_CLOSED = _sensor(
    THREAD, _INFO, "task-closed", *_often("task-closed", "Tasks that a process has given up")
)
BLOCKED_TIME = _sensor(
    THREAD,
    _INFO,
    "blocked-time",
    Metric("blocked-time-ns-total", Stat.SUM, "Time that the thread waited for Kafka, in ns"),
)

# Restore

RESTORING_TASKS = _gauge(STATE_UPDATER, "active-restoring-tasks", "Tasks that are being restored")
RESTORE_RECORDS = _sensor(
    STATE_UPDATER,
    _INFO,
    "restore-records",
    *_often("restore-records", "Records read from changelogs"),
)
RESTORE = _sensor(
    STATE_UPDATER,
    _INFO,
    "restore",
    *_long("restore-latency", "To bring a task up to date with its changelogs", "ms"),
    *_often("restore-call", "How often a task was brought up to date"),
    Metric("restore-time-ns-total", Stat.SUM, "Time spent on restoring, in ns"),
    _ratio("active-restore", "the thread restores"),
    divisor=_MS,
)
CHECKPOINT = _sensor(
    STATE_UPDATER, _INFO, "checkpoint", _ratio("checkpoint", "the thread writes state to disk")
)

STANDBY_TASKS = _gauge(
    STATE_UPDATER, "standby-updating-tasks", "Tasks of which a host keeps a copy up to date"
)
STANDBY_UPDATE = _sensor(
    STATE_UPDATER,
    _INFO,
    "standby-update",
    _ratio("standby-update", "a host spends on its copies"),
)

# Tasks

DROPPED_RECORDS = _sensor(
    TASK, _INFO, "dropped-records", *_often("dropped-records", "Records dropped")
)
ACTIVE_PROCESS = _sensor(
    TASK, _INFO, "active-process", _ratio("active-process", "is spent on processing this task")
)
RESTORE_REMAINING = _gauge(
    TASK, "restore-remaining-records-total", "Records of changelogs that are still to be read"
)
TASK_RESTORE = _sensor(TASK, _DEBUG, "restore", *_often("restore", "Records restored"))
TASK_UPDATE = _sensor(
    TASK, _DEBUG, "update", *_often("update", "Records applied to copies of the task")
)
ENFORCED_PROCESSING = _sensor(
    TASK,
    _DEBUG,
    "enforced-processing",
    *_often("enforced-processing", "Records processed while another input was empty"),
)
TASK_PROCESSED = _sensor(TASK, _DEBUG, "processed", *_often("process", "Records processed"))
TASK_PROCESS = _sensor(
    TASK, _DEBUG, "process", *_long("process-latency", "Processing a record", "ns")
)
TASK_PUNCTUATE = _sensor(
    TASK,
    _DEBUG,
    "punctuate",
    *_long("punctuate-latency", "A punctuation", "ns"),
    *_often("punctuate", "Punctuations"),
)
RECORD_LATENESS = _sensor(
    TASK,
    _DEBUG,
    "record-lateness",
    *_long("record-lateness", "How far records are behind stream time", "ms"),
)
CACHE_SIZE = _gauge(TASK, "cache-size-bytes-total", "Bytes in the task's record caches", _DEBUG)
LMDB_USED = _gauge(TASK, "lmdb-used-bytes", "Bytes of the task's LMDB file that were ever in use")
LMDB_MAP_SIZE = _gauge(
    TASK, "lmdb-map-size", "Bytes that the LMDB file may take up before its map is made larger"
)
LMDB_READERS = _gauge(
    TASK, "lmdb-readers", "Readers that the LMDB file has had at once: the task itself, and queries"
)

# Nodes and topics

NODE_LATENCY = _sensor(
    NODE,
    _INFO,
    "record-e2e-latency",
    *_latency_of_records("From a record's timestamp to the node, at sources and terminal nodes"),
)
NODE_PROCESSED = _sensor(
    NODE, _DEBUG, "processed", *_often("process", "Records that a source gave")
)
SUPPRESSION_EMIT = _sensor(
    NODE, _DEBUG, "suppression-emit", *_often("suppression-emit", "Updates that were let through")
)
FINAL_EMIT = _sensor(
    NODE,
    _DEBUG,
    "window-aggregate-final-emit",
    *_often("window-aggregate-final-emit", "Closed windows emitted"),
)
FINAL_EMIT_LATENCY = _sensor(
    NODE,
    _DEBUG,
    "window-aggregate-final-emit-latency",
    *_long("window-aggregate-final-emit-latency", "Emitting closed windows", "ms"),
    divisor=_MS,
)


def _sum(name: str, what: str) -> Sensor:
    return _sensor(TOPIC, _INFO, name, Metric(f"{name}-total", Stat.TOTAL, what))


RECORDS_CONSUMED = _sum("records-consumed", "Records read from a topic")
BYTES_CONSUMED = _sum("bytes-consumed", "Their bytes, estimated from a sample when there are many")
RECORDS_PRODUCED = _sum("records-produced", "Records written to a topic by a sink")
BYTES_PRODUCED = _sum("bytes-produced", "Their bytes, estimated from a sample when there are many")

# Stores

STORE_OPERATIONS = {
    name: _sensor(
        STORE,
        _DEBUG,
        name,
        *_long(f"{name}-latency", what, "ns"),
        Metric(f"{name}-rate", Stat.RATE, f"{what}: how often a second"),
    )
    for name, what in {
        "put": "A put; in a cached aggregation, with the get before it",
        "put-if-absent": "A put_if_absent",
        "put-all": "A put_all",
        "get": "A get",
        "delete": "A delete",
        "fetch": "A fetch, without reading its results",
        "all": "An all, without reading its results",
        "range": "A range, without reading its results",
        "prefix-scan": "A prefix_scan, without reading its results",
        "remove": "A remove",
        "flush": "A flush",
        "commit": "A commit of the store, which is to flush it",
        "restore": "Applying a batch of changelog records",
    }.items()
}
ITERATOR_DURATION = _sensor(
    STORE,
    _DEBUG,
    "iterator-duration",
    *_long("iterator-duration", "From the first entry read of an iterator to its end", "ns"),
)
OPEN_ITERATORS = _gauge(
    STORE, "num-open-iterators", "Iterators that were begun and not ended", _DEBUG
)
OLDEST_ITERATOR = _gauge(
    STORE,
    "oldest-iterator-open-since-ms",
    "When the oldest of them was begun, in ms since the epoch; 0 if there is none",
    _DEBUG,
)
STORE_LATENCY = _sensor(
    STORE,
    _TRACE,
    "record-e2e-latency",
    *_latency_of_records("From a record's timestamp to the store"),
)
BUFFER_SIZE = _sensor(
    STORE,
    _DEBUG,
    "suppression-buffer-size",
    *_extremes("suppression-buffer-size", "Bytes in a buffer at a commit"),
)
BUFFER_COUNT = _sensor(
    STORE,
    _DEBUG,
    "suppression-buffer-count",
    *_extremes("suppression-buffer-count", "Records in a buffer at a commit"),
)
ENTRIES = _gauge(STORE, "estimate-num-keys", "Entries of a store at the last commit")
KEYS = _gauge(STORE, "num-keys", "The same, of stores in memory only")
SIZE = _gauge(
    STORE,
    "total-sst-files-size",
    "The size of a store on disk at the last commit, in bytes: its pages in the LMDB file",
)
HIT_RATIO = _sensor(
    CACHE,
    _DEBUG,
    "hit-ratio",
    Metric("hit-ratio-avg", Stat.AVG, "The share of reads that a cache could answer: the average"),
    Metric("hit-ratio-min", Stat.MIN, "The share of reads that a cache could answer: the smallest"),
    Metric("hit-ratio-max", Stat.MAX, "The share of reads that a cache could answer: the largest"),
)
