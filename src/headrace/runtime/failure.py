"""From an exception to the decision of its handler."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from headrace.core.errors import HandlerError, ProcessingError, SerializationError, StreamsError
from headrace.core.handlers import (
    ErrorContext,
    Handler,
    Result,
    Stage,
    checked,
    log_and_fail,
)
from headrace.core.own_code import is_own_code
from headrace.core.record import (
    ConsumerRecord,
    Header,
    Headers,
    ProducerRecord,
    Record,
    RecordMetadata,
)
from headrace.runtime.context import TaskContext
from headrace.runtime.stores.storage import StorageError

_READERS_OF_INPUT = (
    "deserialization.exception.handler",
    "processing.exception.handler",
    "production.exception.handler",
    "errors.dead.letter.queue.topic.name",
)


class ProcessingFailed(Exception):
    """A node failed and its handler said to stop: on its way past all other nodes to the task."""

    def __init__(self, node: str, at: RecordMetadata | None, key: Any, error: Exception) -> None:
        super().__init__(node)
        self.node = node
        self.at = at
        self.key = key
        self.error = error


FASTER = (
    "Everything a record does must be committed within transaction.timeout.ms (with at_least_once, "
    "task.timeout.ms): make the function faster, give what it waits for a timeout, or raise the "
    "setting."
)


class TooSlow(Exception):
    """A function has taken longer for one record than a commit can wait for. No handler is asked:
    what it would have skipped can't be committed any more."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it took more than {seconds:.1f} s")


class FailureHandling:
    """Asks the configured handlers, sends their dead letters, and counts what is dropped."""

    def __init__(self, context: TaskContext, outbox: list[Any]) -> None:
        self._context = context
        self._outbox = outbox
        config = context.config
        self._deserialization = config["deserialization.exception.handler"] or log_and_fail
        self._processing = config["processing.exception.handler"] or log_and_fail
        self._production = config["production.exception.handler"] or log_and_fail
        self._dead_letter_topic = config["errors.dead.letter.queue.topic.name"]
        self.keeps_input = any(config.is_given(key) for key in _READERS_OF_INPUT)
        """Whether a handler may ask for the bytes of the input record."""

    def deserialization_failed(
        self, stage: Stage, source: str, record: ConsumerRecord, error: Exception
    ) -> None:
        """Returns if the record is to be skipped."""
        where = self._error_context(
            stage,
            source,
            record.topic,
            record.partition,
            record.offset,
            record.timestamp,
            record.headers,
            record.key,
            record.value,
        )
        if self._goes_on(self._deserialization, where, record, error, "deserialization"):
            self._context.drop(f"could not {stage.value}: {error}", record)
            return
        raise SerializationError(
            f"Could not {stage.value} of the record at {record.topic}-{record.partition}"
            f"@{record.offset} (source {source}): {describe(error)}. Mend the serde of the source, "
            "or set deserialization.exception.handler to skip such records."
        ) from error

    def processing_failed(self, node: str, key: Any, value: Any, error: Exception) -> None:
        """Returns if the branch of `node` is to be skipped for this record."""
        if isinstance(error, ProcessingFailed | HandlerError | StorageError):
            # It failed further down, and was handled there; or no handler can help.
            raise error
        context = self._context
        if isinstance(error, TooSlow):
            raise ProcessingFailed(node, context.metadata(), key, error)
        where = self._current(Stage.PROCESS, node)
        record = None
        if context.timestamp >= 0:
            record = Record(key, value, context.timestamp, Headers(context.headers))
        if self._goes_on(self._processing, where, record, error, "processing"):
            context.drop(f"{node} raised {describe(error)}")
            return
        raise ProcessingFailed(node, context.metadata(), key, error)

    def punctuation_failed(self, node: str, error: Exception) -> None:
        """Returns if the punctuation is to be skipped."""
        if isinstance(error, StorageError):
            raise error
        where = self._current(Stage.PUNCTUATE, node)
        is_slow = isinstance(error, TooSlow)
        if not is_slow and self._goes_on(self._processing, where, None, error, "processing"):
            self._context.drop(f"punctuation of {node} raised {describe(error)}")
            return
        failure = ProcessingFailed(node, self._context.metadata(), None, error)
        raise self.processing_error(failure) from users_part(error)

    def serialization_failed(
        self, stage: Stage, sink: str, record: ProducerRecord, error: Exception
    ) -> None:
        """Returns if the output record is to be skipped."""
        where = self._current(stage, sink)
        if self._goes_on(self._production, where, record, error, "production"):
            self._context.drop(f"could not {stage.value} for topic {record.topic}: {error}")
            return
        raise SerializationError(
            f"Could not {stage.value} for topic {record.topic} (sink {sink}, {where}): "
            f"{describe(error)}. Mend the serde of the sink, or set "
            "production.exception.handler to skip such records."
        ) from error

    def sending_failed(self, record: ProducerRecord, error: StreamsError) -> None:
        """Returns if the output record is to be skipped."""
        where = self._current(Stage.SEND, record.topic)
        if self._goes_on(self._production, where, record, error, "production"):
            self._context.drop(f"could not send it to topic {record.topic}: {error}")
            return
        raise error

    def processing_error(
        self, failure: ProcessingFailed, kind: type[ProcessingError] = ProcessingError
    ) -> StreamsError:
        """What the caller of the task is told; raise it from the user's own error."""
        where = f"at {failure.at}, key {failure.key!r} (task {self._context.task_id})"
        if isinstance(failure.error, TooSlow):
            return kind(f"{failure.node} is too slow {where}: {failure.error}. {FASTER}")
        return kind(
            f"{failure.node} failed {where}: {describe(failure.error)}. Mend the function, or set "
            "processing.exception.handler to skip such records."
        )

    def slowness(self, source: str, slow: TooSlow) -> ProcessingError:
        """What the caller is told if it isn't known which operator took so long."""
        where = f"{self._context.metadata()} (source {source}, task {self._context.task_id})"
        return ProcessingError(f"The functions are too slow at {where}: {slow}. {FASTER}")

    def _goes_on(
        self, handler: Handler, where: ErrorContext, record: Any, error: Exception, kind: str
    ) -> bool:
        try:
            response = checked(handler(where, record, error))
        except Exception as handler_error:
            raise HandlerError(
                f"The {kind} exception handler itself failed, for {where}: "
                f"{describe(handler_error)}"
            ) from handler_error
        self._outbox.extend(response.dead_letters)
        return response.result is Result.CONTINUE

    def _current(self, stage: Stage, node: str) -> ErrorContext:
        context = self._context
        return self._error_context(stage, node, *_position(context))

    def _error_context(
        self,
        stage: Stage,
        node: str,
        topic: str | None,
        partition: int,
        offset: int,
        timestamp: int,
        headers: Sequence[Header],
        raw_key: bytes | None,
        raw_value: bytes | None,
    ) -> ErrorContext:
        return ErrorContext(
            stage,
            node,
            self._context.task_id,
            topic,
            partition,
            offset,
            timestamp,
            tuple(headers),
            raw_key,
            raw_value,
            self._dead_letter_topic,
        )


def _position(context: TaskContext) -> tuple[Any, ...]:
    return (
        context.topic,
        context.partition,
        context.offset,
        context.timestamp,
        context.headers,
        *context.record[1:],
    )


def describe(error: BaseException) -> str:
    text = str(error).removesuffix(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def users_part(error: Exception) -> Exception:
    """The error with its traceback beginning in the user's code, if it went through any."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and _is_ours(trace):
        trace = trace.tb_next
    return error if trace is None else error.with_traceback(trace)


def _is_ours(trace: TracebackType) -> bool:
    return is_own_code(trace.tb_frame.f_code.co_filename)
