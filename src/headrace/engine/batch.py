"""The rhythm of a batch: when a slot commits, and what becomes of its errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NoReturn

from headrace.core.errors import (
    BrokerError,
    FencedError,
    LockError,
    ProcessingError,
    StreamsError,
)
from headrace.core.record import TaskId, TopicPartition
from headrace.engine.chunk import Chunk
from headrace.engine.cycle import CommitCycle
from headrace.engine.report import Failure, TaskReport
from headrace.engine.restore import StopAsked
from headrace.engine.worker import Worker
from headrace.runtime.stores.storage import StorageError

Row = tuple[TopicPartition, Chunk] | TaskId
"""Records of a partition, in the order of their offsets; or a task that is to look at the wall
clock."""

_COMMIT_EVERY_S = 10.0
_COMMIT_BYTES = 64 * 1024 * 1024
"""What was read and sent is in memory until it is committed, in several forms."""


class RetryLater(Exception):
    """The batch could not be finished for a reason that may pass: try it again."""


class Batch:
    """One batch of one slot: it commits at the end, and before if that takes long, if there is much
    in memory, or if a processor has asked for it.

    If the driver asks to stop, it commits what is done, and drops the rest.
    """

    def __init__(self, worker: Worker, slot: int, commit_bytes: int = _COMMIT_BYTES) -> None:
        self._worker = worker
        self._commit_bytes = commit_bytes
        self._slot = slot
        self._clock = worker.clock
        self._cycle = CommitCycle(worker, slot)
        # Well before the brokers would end the transaction.
        self._commit_every_s = min(_COMMIT_EVERY_S, worker.transaction_timeout_s / 4)
        self._committed_at = 0.0

    def run(self, rows: Iterable[Row]) -> list[TaskReport]:
        """Process the rows and commit.

        An error that trying again can't mend is in the reports; RetryLater is raised for others.
        """
        cycle = self._cycle
        try:
            cycle.begin()
            is_complete = self._process(rows)
            cycle.commit()
            return self._reports(is_complete)
        except (BrokerError, FencedError, LockError) as error:
            cycle.abandon()
            return self._try_again(error)
        except StorageError as error:
            cycle.abandon(distrusts_state=True)
            self._retry(error)
        except Exception as error:
            cycle.abandon()
            return self._failed(error)
        except BaseException:
            cycle.abandon()
            raise
        finally:
            cycle.release()

    def _process(self, rows: Iterable[Row]) -> bool:
        """Whether all rows were processed."""
        self._committed_at = self._clock.seconds()
        try:
            for _ in self._work(rows):
                self._worker.listener.alive()
                if self._worker.listener.stop_asked():
                    return False
                if self._is_commit_due():
                    self._commit()
        except StopAsked:
            return False
        return True

    def _work(self, rows: Iterable[Row]) -> Iterator[None]:
        """All that is to be done; in its pauses there may be a commit."""
        cycle, metrics = self._cycle, self._cycle.metrics
        woken = []
        began = self._clock.nanoseconds()
        for row in rows:
            if isinstance(row, TaskId):
                woken.append(row)
                continue
            partition, chunk = row
            metrics.poll.record(self._clock.nanoseconds() - began)
            metrics.poll_records.record(chunk.size)
            yield from cycle.process(partition, chunk)
            began = self._clock.nanoseconds()
        yield from cycle.drain()
        for id_ in woken:
            cycle.punctuate(id_)
            yield

    def _is_commit_due(self) -> bool:
        cycle = self._cycle
        return (
            self._clock.seconds() - self._committed_at > self._commit_every_s
            or cycle.uncommitted_bytes > self._commit_bytes
            or cycle.commit_requested
        )

    def _commit(self) -> None:
        """In the middle of the batch: its report is a long way off."""
        committed = self._cycle.commit()
        self._committed_at = self._clock.seconds()
        self._worker.listener.progressed(
            {part: position.offset for part, position in committed.items()}
        )

    def _reports(self, is_complete: bool) -> list[TaskReport]:
        reports = self._cycle.reports()
        if is_complete:
            return reports
        # That rows were left must be known, whichever task they were for.
        reports = reports or [TaskReport("", self._slot, self._worker.name)]
        return [replace(report, is_complete=False) for report in reports]

    # When it fails

    def _try_again(self, error: StreamsError) -> list[TaskReport]:
        worker, cycle = self._worker, self._cycle
        worker.forget_producer(self._slot)
        if isinstance(error, FencedError):
            if self._is_replaced():
                return self._failed(error)
            limit_s = worker.transaction_timeout_s
            if cycle.flush_s > limit_s:
                return self._failed(_flushing_took(cycle.flush_s))
            if (open_s := cycle.uncommitted_s) > limit_s:
                error = FencedError(
                    f"The brokers have ended a transaction that was open for {open_s:.1f} s, "
                    f"longer than transaction.timeout.ms ({limit_s * 1000:.0f})."
                )
            # Else by another process of ours, as slots go from one to the other.
            self._retry(error)
        if isinstance(error, LockError) or (isinstance(error, BrokerError) and error.retriable):
            unreachable = worker.kafka.wait_for_kafka(error)
            if unreachable is None:
                self._retry(error)
            return self._failed(unreachable)
        return self._failed(error)

    def _retry(self, error: Exception) -> NoReturn:
        self._worker.listener.attempt_failed(self._slot, self._cycle.task_at_work, error)
        raise RetryLater(str(error)) from error

    def _is_replaced(self) -> bool:
        try:
            self._worker.claim.check()
        except FencedError:
            return True
        except BrokerError:
            return False
        return False

    def _failed(self, error: BaseException) -> list[TaskReport]:
        task = self._cycle.task_at_work
        return [
            TaskReport(
                "" if task is None else str(task),
                self._slot,
                self._worker.name,
                failure=Failure.of(error),
            )
        ]


def _flushing_took(seconds: float) -> ProcessingError:
    return ProcessingError(
        f"It took {seconds:.1f} s to forward the updates that the record caches held back until "
        "the commit, longer than transaction.timeout.ms. Lower statestore.cache.max.bytes, make "
        "the functions behind the stores faster, or raise transaction.timeout.ms."
    )
