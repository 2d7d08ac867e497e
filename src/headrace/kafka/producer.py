"""Producers: what a commit sends, and the commit itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from operator import length_hint
from typing import Any, NoReturn

from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.core.errors import BrokerError, StreamsError
from headrace.core.record import TopicPartition
from headrace.kafka.errors import RETRIABLE, Complaints, error_of, made, translated, tried
from headrace.kafka.port import Outgoing, Position, RecordRejected
from headrace.kafka.positions import GroupReader, client_positions
from headrace.kafka.settings import ClientSettings

_ATTEMPT_S = 10.0
_ABORT_S = 10.0
_OVERTIME_S = 1.0
_FULL_QUEUE_PAUSE_S = 0.02
_PURGED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
_TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})


class _Failures:
    """Hears of records that could not be delivered. The first is the cause of the others."""

    def __init__(self, complaints: Complaints) -> None:
        self._complaints = complaints
        self.first: StreamsError | None = None

    def __call__(self, error: KafkaError | None, message: Any) -> None:
        if error is None or error.code() in _PURGED:
            return
        topic = message.topic()
        if error.code() in _TOO_LARGE:
            # All that were sent together are refused; the largest is to blame.
            rejected = _too_large(error, topic, message.key(), message.value(), -1)
            if self.first is None or (
                isinstance(self.first, RecordRejected) and self.first.size < rejected.size
            ):
                self.first = rejected
        elif self.first is None:
            what = f"Could not send a record to {topic}"
            self.first = translated(error, what, complaints=self._complaints)


class _Sending:
    """What both producers do: connect, and send."""

    def __init__(
        self, settings: ClientSettings, config: dict[str, Any], timeout_s: float | None
    ) -> None:
        self._timeout_s = settings.timeout_s(timeout_s)
        self._is_interrupted = settings.is_interrupted
        self._complaints = Complaints()
        self._failures = _Failures(self._complaints)
        config["on_delivery"] = self._failures
        self._producer = made(Producer, config, self._complaints)
        self.usable = True
        """False: make a new one."""

    def close(self) -> None:
        """Let go of it. What wasn't committed is lost, and nothing is waited for."""
        if not hasattr(self, "_producer"):
            return
        self.usable = False
        self._producer.purge()
        self._serve()
        del self._producer  # which frees its threads and buffers

    def _connect(self) -> None:
        # A producer that knows no broker yet waits for a timer of its own to find its coordinator.
        tried(
            lambda timeout: self._producer.list_topics(timeout=timeout),
            "Could not connect to Kafka",
            deadline=time.monotonic() + self._timeout_s,
            complaints=self._complaints,
            serve=self._serve,
            is_interrupted=self._is_interrupted,
        )

    def _serve(self) -> None:
        """Have callbacks called, after a failure."""
        try:
            self._producer.poll(0)
        except KafkaException as exception:
            # A fatal error is raised by a poll, with its cause.
            self._complaints(error_of(exception))

    def _send(self, outbox: Sequence[Outgoing]) -> None:
        produce = self._producer.produce
        records = iter(outbox)
        # All by position, and headers only if there are any: that halves the time it takes. A
        # timestamp of 0 would mean "now" to librdkafka; 1 is the nearest it can send.
        for topic, partition, key, value, timestamp, headers in records:
            number = -1 if partition is None else partition
            stamp = timestamp or (0 if timestamp is None else 1)
            try:
                if headers:
                    produce(topic, value, key, number, None, None, stamp, list(headers))
                else:
                    produce(topic, value, key, number, None, None, stamp)
            except BufferError:
                self._send_when_there_is_room(
                    topic, value, key, number, None, None, stamp, list(headers)
                )
            except KafkaException as exception:
                error = error_of(exception)
                if error.code() in _TOO_LARGE:
                    index = len(outbox) - length_hint(records) - 1
                    raise _too_large(error, topic, key, value, index) from exception
                self._serve()
                self._fail(error, f"Could not send a record to {topic}", exception)
        self._poll(0)

    def _send_when_there_is_room(self, *arguments: Any) -> None:
        while self._failures.first is None:
            self._poll(_FULL_QUEUE_PAUSE_S)
            try:
                self._producer.produce(*arguments)
                return
            except BufferError:
                continue
            except KafkaException as exception:
                self._fail(error_of(exception), "Could not send", exception)

    def _poll(self, timeout: float) -> None:
        try:
            self._producer.poll(timeout)
        except KafkaException as exception:
            self._fail(error_of(exception), "Could not send", exception)

    def _fail(self, error: KafkaError, what: str, cause: KafkaException) -> NoReturn:
        raise NotImplementedError


class TransactionalProducer(_Sending):
    """Sends records and positions in transactions: all of a commit, or nothing.

    It fences every other producer with the same transactional id when it is opened. After an error
    other than RecordRejected for a record that `send` named, it isn't `usable` any more: read the
    committed positions, and go on with a new one. Was it the commit itself that failed, then its
    outcome is not known before that.
    """

    def __init__(
        self, settings: ClientSettings, transactional_id: str, *, timeout_s: float | None = None
    ) -> None:
        config = settings.producer(**{"transactional.id": transactional_id})
        super().__init__(settings, config, timeout_s)
        self.transactional_id = transactional_id
        self._is_open = False

    def open(self) -> None:
        """Connect, and fence others. Raises BrokerError if Kafka can't be reached in time."""
        self._connect()
        self._in_time(
            self._producer.init_transactions,
            f"Could not start transactions as {self.transactional_id}",
        )

    def send(self, outbox: Sequence[Outgoing]) -> None:
        """Send records in a transaction, which is begun if need be.

        A record that is too large raises RecordRejected with its index; those before it are sent,
        and to go on is to send those after it. Most errors come only with the commit.
        """
        if not outbox:
            return
        self._begin()
        self._send(outbox)
        if self._failures.first is not None:
            self._give_up(self._failures.first)

    def commit(self, group_metadata: Any, positions: Mapping[TopicPartition, Position]) -> None:
        """Commit what was sent, and the positions with it.

        Raises FencedError if another instance took over, RecordRejected, MissingTopicError or
        BrokerError if it failed. What may pass is tried again for a while.
        """
        if not positions and not self._is_open:
            return
        self._begin()
        if positions:
            self._send_positions(group_metadata, positions)
        self._in_time(
            self._producer.commit_transaction,
            f"Could not commit a transaction as {self.transactional_id}",
        )
        self._is_open = False

    def abort(self) -> None:
        """Abort what was sent since the last commit, if anything was."""
        if not self._is_open or not self.usable:
            return
        self._is_open = False
        try:
            tried(
                self._producer.abort_transaction,
                "Could not abort a transaction",
                deadline=time.monotonic() + min(_ABORT_S, self._timeout_s),
                complaints=self._complaints,
                serve=self._serve,
                is_interrupted=self._is_interrupted,
            )
        except StreamsError:
            # The broker does: at once when the next producer opens, else after a while.
            self.usable = False

    def _begin(self) -> None:
        if not self.usable:
            raise BrokerError(
                f"The producer {self.transactional_id} can't be used any more. Open a new one.",
                retriable=True,
            )
        if not self._is_open:
            try:
                self._producer.begin_transaction()
            except KafkaException as exception:
                self._fail(
                    error_of(exception),
                    f"Could not begin a transaction as {self.transactional_id}",
                    exception,
                )
            self._is_open = True

    def _send_positions(
        self, group_metadata: Any, positions: Mapping[TopicPartition, Position]
    ) -> None:
        what = f"Could not send the positions of a commit as {self.transactional_id}"
        offsets = client_positions(positions)
        timeout_s = min(_ATTEMPT_S, self._timeout_s)
        sent: Future[None] = Future()

        def send() -> None:
            try:
                self._producer.send_offsets_to_transaction(offsets, group_metadata, timeout_s)
                sent.set_result(None)
            except KafkaException as exception:
                sent.set_exception(exception)

        # If a broker goes away meanwhile, librdkafka may not return from this, whatever the
        # timeout; nor from a second call after an error.
        threading.Thread(target=send, daemon=True).start()
        try:
            sent.result(timeout_s + _OVERTIME_S)
        except TimeoutError:
            self._give_up(BrokerError(f"{what}: no answer.", retriable=True), can_abort=False)
        except KafkaException as exception:
            self._serve()
            self._fail(error_of(exception), what, exception)

    def _in_time(self, call: Callable[[float], None], what: str) -> None:
        """Make a call, again and again while that may help."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            remaining = max(0.1, deadline - time.monotonic())
            try:
                call(min(_ATTEMPT_S, remaining))
                self._complaints.clear()
                return
            except KafkaException as exception:
                error = error_of(exception)
                self._serve()
                again = error.retriable() or error.code() in RETRIABLE
                if not again or error.txn_requires_abort() or error.fatal():
                    self._fail(error, what, exception)
                if (
                    time.monotonic() >= deadline
                    or self._complaints.hopeless
                    or self._is_interrupted()
                ):
                    self._fail(error, what, exception)

    def _fail(self, error: KafkaError, what: str, cause: KafkaException) -> NoReturn:
        failure = self._failures.first or translated(error, what, complaints=self._complaints)
        self._give_up(failure, cause, can_abort=error.txn_requires_abort() and not error.fatal())

    def _give_up(
        self, failure: StreamsError, cause: Exception | None = None, *, can_abort: bool = True
    ) -> NoReturn:
        """Raise, having aborted what can be aborted, so that no reader waits for it."""
        if can_abort:
            self.abort()
        # librdkafka counted the records that were lost, but the broker didn't: a later transaction
        # would fail with "skipped sequence numbers".
        self.usable = False
        raise failure from cause


class PlainProducer(_Sending):
    """The same for `at_least_once`: a commit is that everything has arrived, then positions."""

    def __init__(
        self, settings: ClientSettings, group: GroupReader, *, timeout_s: float | None = None
    ) -> None:
        super().__init__(settings, settings.producer(), timeout_s)
        self._group = group

    def open(self) -> None:
        """Connect. Raises BrokerError if Kafka can't be reached in time."""
        self._connect()

    def send(self, outbox: Sequence[Outgoing]) -> None:
        """As a TransactionalProducer's."""
        self._send(outbox)
        self._raise_failure()

    def commit(self, group_metadata: Any, positions: Mapping[TopicPartition, Position]) -> None:
        """Wait until everything has arrived, then commit the positions."""
        left = self._producer.flush(self._timeout_s)
        self._raise_failure()
        if left:
            self.usable = False
            raise BrokerError(
                f"{left} records could not be sent within {self._timeout_s:.0f} s. "
                f"{self._complaints.last or 'The brokers did not answer in time.'}",
                retriable=True,
            )
        self._group.commit(positions)

    def abort(self) -> None:
        """Forget what was not sent yet."""
        self._producer.purge()
        self._producer.flush(self._timeout_s)
        self._failures.first = None

    def _raise_failure(self) -> None:
        failure = self._failures.first
        if failure is not None:
            self._failures.first = None
            raise failure

    def _fail(self, error: KafkaError, what: str, cause: KafkaException) -> NoReturn:
        self.usable = not error.fatal()
        raise translated(error, what, complaints=self._complaints) from cause


def _too_large(
    error: KafkaError, topic: str, key: bytes | None, value: bytes | None, index: int
) -> RecordRejected:
    size = len(key or b"") + len(value or b"")
    shown = "no key" if key is None else f"key {key[:80]!r}"
    handler = "set a production.exception.handler that drops such records"
    if index < 0:
        # The broker has refused it, and what was sent with it: too late to ask a handler.
        handler = f"lower producer.max.request.size to that, and {handler}"
    return RecordRejected(
        f"A record of {size} bytes with {shown} is too large for topic {topic}: {error.str()}. "
        f"Raise producer.max.request.size and the topic's max.message.bytes, or {handler}.",
        topic=topic,
        key=key,
        size=size,
        index=index,
    )
