"""The metrics of Kafka Streams that there are not, and why. `docs/metrics.md` has this list."""

from __future__ import annotations

from typing import NamedTuple

from headrace.metrics.sensor import CLIENT, NODE, STATE_UPDATER, STORE, TASK, THREAD, Scope


class Absence(NamedTuple):
    scope: Scope
    names: tuple[str, ...]
    why: str


def _of(scope: Scope, names: str, why: str) -> Absence:
    return Absence(scope, tuple(names.split()), why)


ABSENT = (
    _of(CLIENT, "commit-id", "`version` says which code runs"),
    _of(
        THREAD,
        "tasks-revoked-latency-avg tasks-revoked-latency-max tasks-assigned-latency-avg"
        " tasks-assigned-latency-max tasks-lost-latency-avg tasks-lost-latency-max",
        "The consumer group has no members, so there are no rebalances. What it takes to move a"
        " task is in `restore-latency`",
    ),
    _of(
        TASK,
        "active-buffer-count",
        "A batch is processed to its end before it is reported: what waits does so in Kafka, see"
        " `records-lag`",
    ),
    _of(
        STATE_UPDATER,
        "idle-ratio",
        "Tasks are restored by the threads that run them, not by one that could be idle",
    ),
    _of(
        STATE_UPDATER,
        "active-paused-tasks standby-paused-tasks",
        "A pause holds back the next batch, but neither a restore nor copies",
    ),
    _of(
        NODE,
        "idempotent-update-skip-rate idempotent-update-skip-total",
        "Kafka Streams 4.3 has the name, but nothing that counts",
    ),
    _of(
        STORE,
        "memtable-bytes-flushed-rate memtable-bytes-flushed-total memtable-hit-ratio"
        " memtable-flush-time-avg memtable-flush-time-min memtable-flush-time-max"
        " num-immutable-mem-table cur-size-active-mem-table cur-size-all-mem-tables"
        " size-all-mem-tables num-entries-active-mem-table num-entries-imm-mem-tables"
        " num-deletes-active-mem-table num-deletes-imm-mem-tables mem-table-flush-pending"
        " num-running-flushes",
        "LMDB has no memtables: changes of a batch are in memory until they are committed, all at"
        " once. `checkpoint-ratio` tells how long that takes",
    ),
    _of(
        STORE,
        "bytes-read-compaction-rate bytes-written-compaction-rate compaction-time-avg"
        " compaction-time-min compaction-time-max compaction-pending num-running-compactions"
        " estimate-pending-compaction-bytes num-live-versions live-sst-files-size"
        " write-stall-duration-avg write-stall-duration-total background-errors",
        "LMDB is a B+ tree that reuses its pages: there is no compaction, nothing works in the"
        " background, and nothing stalls",
    ),
    _of(
        STORE,
        "block-cache-data-hit-ratio block-cache-index-hit-ratio block-cache-filter-hit-ratio"
        " block-cache-capacity block-cache-usage block-cache-pinned-usage"
        " estimate-table-readers-mem",
        "LMDB maps its file into memory: the system's page cache is its cache",
    ),
    _of(
        STORE,
        "bytes-written-rate bytes-written-total bytes-read-rate bytes-read-total",
        "LMDB doesn't count them. `lmdb-used-bytes` is how large the file of a task has become",
    ),
    _of(
        STORE,
        "number-open-files number-file-errors-total",
        "A task has one file. An error in it is the task's error, or has it restored",
    ),
)
