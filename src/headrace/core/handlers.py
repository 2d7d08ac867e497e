"""What happens to a record that can't be read, processed or written.

A handler is a function `handler(context, record, error)` that gives a Response. The built-in ones
serve all three settings, `deserialization.`, `processing.` and `production.exception.handler`:

    {"processing.exception.handler": handlers.log_and_continue,
     "errors.dead.letter.queue.topic.name": "failed-orders"}
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from headrace.core.errors import ArgumentError
from headrace.core.record import Header, ProducerRecord, RecordMetadata, TaskId

log = logging.getLogger("headrace.handlers")


class Result(Enum):
    """What a handler decides: skip the record, stop, or send it again."""

    CONTINUE = "continue"
    FAIL = "fail"
    RETRY = "retry"


class Response(NamedTuple):
    """A handler's decision, and the records to send to a dead-letter topic with it."""

    result: Result
    dead_letters: tuple[ProducerRecord, ...] = ()

    @classmethod
    def resume(cls, dead_letters: Sequence[ProducerRecord] = ()) -> Response:
        """Skip the record and go on."""
        return cls(Result.CONTINUE, tuple(dead_letters))

    @classmethod
    def fail(cls, dead_letters: Sequence[ProducerRecord] = ()) -> Response:
        """Stop processing with an error."""
        return cls(Result.FAIL, tuple(dead_letters))

    @classmethod
    def retry(cls) -> Response:
        """Send the record again. Only after a failed send that can be repeated; else it fails."""
        return cls(Result.RETRY)


class Stage(Enum):
    """What was being done when it failed."""

    DESERIALIZE_KEY = "deserialize the key"
    DESERIALIZE_VALUE = "deserialize the value"
    PROCESS = "process"
    PUNCTUATE = "punctuate"
    SERIALIZE_KEY = "serialize the key"
    SERIALIZE_VALUE = "serialize the value"
    SEND = "send"


class ErrorContext(NamedTuple):
    """Where an error happened: the input record that led to it, and the node it happened in.

    `raw_key` and `raw_value` are the bytes of the input record, where they are still known.
    """

    stage: Stage
    node: str
    task_id: TaskId
    topic: str | None
    partition: int
    offset: int
    timestamp: int
    headers: Sequence[Header]
    raw_key: bytes | None
    raw_value: bytes | None
    dead_letter_topic: str | None

    def __str__(self) -> str:
        where = RecordMetadata(self.topic, self.partition, self.offset)
        return f"{self.node} at {where} (task {self.task_id})"

    def log_fields(self) -> dict[str, Any]:
        """Where it happened, for structured logs."""
        return {
            "task_id": str(self.task_id),
            "node": self.node,
            "stage": self.stage.value,
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
        }

    def dead_letters(
        self, error: BaseException, topic: str | None = None
    ) -> tuple[ProducerRecord, ...]:
        """The input record with what went wrong in its headers, for the dead-letter topic.

        `topic` defaults to the setting `errors.dead.letter.queue.topic.name`; without it, nothing.
        """
        topic = topic or self.dead_letter_topic
        if topic is None:
            return ()
        headers = (*self.headers, *_error_headers(self, error))
        return (ProducerRecord(topic, None, self.raw_key, self.raw_value, self.timestamp, headers),)


Handler = Callable[[ErrorContext, Any, Exception], Response]


def log_and_fail(context: ErrorContext, record: Any, error: Exception) -> Response:
    """Stop processing. The default everywhere."""
    what, where = context.stage.value, context.log_fields()
    log.error("Failed to %s in %s: %r", what, context, error, extra=where)
    return Response.fail(context.dead_letters(error))


def log_and_continue(context: ErrorContext, record: Any, error: Exception) -> Response:
    """Skip the record; it is counted as dropped."""
    what = context.stage.value
    log.warning(
        "Failed to %s in %s, skipping: %r", what, context, error, extra=context.log_fields()
    )
    return Response.resume(context.dead_letters(error))


def checked(response: Any) -> Response:
    """`response` if it is one, else an error that names what the handler returned."""
    if not isinstance(response, Response):
        raise ArgumentError(
            f"An exception handler must return Response.resume() or Response.fail(), "
            f"but returned {response!r}"
        )
    return response


def _error_headers(context: ErrorContext, error: BaseException) -> tuple[Header, ...]:
    def text(value: object) -> bytes | None:
        return None if value is None else str(value).encode()

    trace = "".join(traceback.format_exception(error))
    return (
        ("__streams.errors.exception", text(_qualified_name(type(error)))),
        ("__streams.errors.message", text(error)),
        ("__streams.errors.stacktrace", text(trace)),
        ("__streams.errors.topic", text(context.topic)),
        ("__streams.errors.partition", text(context.partition)),
        ("__streams.errors.offset", text(context.offset)),
    )


def _qualified_name(kind: type[BaseException]) -> str:
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"
