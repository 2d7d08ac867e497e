"""What goes wrong with Kafka, as Headrace's own errors; and calls that are tried again."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import KafkaError, KafkaException

from headrace.core.errors import (
    AuthorizationError,
    BrokerError,
    ConfigError,
    FencedError,
    MissingTopicError,
    StreamsError,
)

C = TypeVar("C")
T = TypeVar("T")

CLIENT_LOGGER = logging.getLogger("headrace.kafka.client")
"""What librdkafka says, which would otherwise go to stderr."""
CLIENT_LOGGER.addHandler(logging.NullHandler())

_SAY_AGAIN_S = 10.0


class _OncePerWhile(logging.Filter):
    """While a broker is away, every client says so again and again, hundreds of times at once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        for told, at in list(self._said.items()):
            if now - at > _SAY_AGAIN_S:
                del self._said[told]
        # Without the seconds that it has been in some state.
        text = re.sub(r"\(after \d+ms[^)]*\)", "", record.getMessage())
        is_new = text not in self._said
        self._said.setdefault(text, now)
        return is_new


CLIENT_LOGGER.addFilter(_OncePerWhile())

_FIRST_ATTEMPT_S = 1.0
_LONGEST_ATTEMPT_S = 5.0
_PAUSE_S = 0.1

RETRIABLE = frozenset(
    {
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.CONCURRENT_TRANSACTIONS,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._DESTROY_BROKER,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._OUTDATED,
        KafkaError._RESOLVE,
        KafkaError._RETRY,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_CACHE,
        KafkaError._WAIT_COORD,
    }
)

_PRODUCER_IS_LOST = frozenset(
    {
        KafkaError.DUPLICATE_SEQUENCE_NUMBER,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.INVALID_TXN_STATE,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.TRANSACTION_ABORTABLE,
        KafkaError.TRANSACTION_COORDINATOR_FENCED,
        KafkaError.UNKNOWN_PRODUCER_ID,
        KafkaError._FATAL,
        KafkaError._GAPLESS_GUARANTEE,
        KafkaError._STATE,
    }
)
"""It may work later, with a new producer."""

_UNEXPLAINED = RETRIABLE | {KafkaError._FATAL}
"""The client says in the background why."""

_FENCED = frozenset(
    {
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.PRODUCER_FENCED,
        KafkaError._FENCED,
    }
)

_MISSING = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._UNKNOWN_TOPIC,
    }
)

_IN_USE = frozenset(
    {
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.NON_EMPTY_GROUP,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.STALE_MEMBER_EPOCH,
        KafkaError.UNKNOWN_MEMBER_ID,
    }
)

_HOPELESS = frozenset(
    {
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
    }
)
"""Why a connection can't be made, and to try again would not help."""

DENIED = {
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "Ask for the right to do this on the cluster.",
    KafkaError.GROUP_AUTHORIZATION_FAILED: (
        "Ask for READ on groups that begin with the application id."
    ),
    KafkaError.TOPIC_AUTHORIZATION_FAILED: (
        "Ask for READ on topics that are read, WRITE on those that are written, and all of both "
        "on topics that begin with the application id."
    ),
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "Ask for WRITE on transactional ids that begin with the application id."
    ),
}
"""What an application needs, where it isn't known which right it was."""

_REMEDIES = {
    KafkaError.INVALID_TRANSACTION_TIMEOUT: (
        "Lower producer.transaction.timeout.ms, or raise the brokers' transaction.max.timeout.ms."
    ),
    KafkaError.OFFSET_METADATA_TOO_LARGE: "Raise the brokers' offset.metadata.max.bytes.",
    KafkaError.POLICY_VIOLATION: "Ask whoever runs the cluster.",
    KafkaError.SASL_AUTHENTICATION_FAILED: "Check sasl.username and sasl.password.",
    KafkaError._ALL_BROKERS_DOWN: "Check bootstrap.servers, and that the brokers are running.",
    KafkaError._AUTHENTICATION: "Check security.protocol, sasl.username and sasl.password.",
    KafkaError._RESOLVE: "Check bootstrap.servers.",
    KafkaError._TIMED_OUT: "Check bootstrap.servers, and that the brokers are running.",
    KafkaError._TRANSPORT: "Check bootstrap.servers, and that the brokers are running.",
    KafkaError._SSL: "Check security.protocol and the certificates (ssl.…).",
    KafkaError.UNSUPPORTED_SASL_MECHANISM: "Set sasl.mechanism to what the brokers have.",
}


_NO_COMMON_TLS = re.compile("alert protocol version|unsupported protocol")
"""What OpenSSL says when each side has only versions of TLS that the other refuses."""


def _remedy(error: KafkaError) -> str | None:
    if error.code() == KafkaError._SSL and _NO_COMMON_TLS.search(error.str()):
        return (
            "The broker and this client have no version of TLS in common, and versions before TLS "
            "1.2 are not safe: have the broker speak TLS 1.2 or 1.3 (its ssl.enabled.protocols)."
        )
    return _REMEDIES.get(error.code())


class Right(NamedTuple):
    """An operation on a resource, by Kafka's names: what an ACL allows."""

    operation: str
    resource: str
    name: str

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource} {self.name}"


_RIGHTS = "The rights that an application needs are in docs/security.md."


def denied(what: str, missing: Iterable[Right]) -> AuthorizationError:
    """The error to raise when `what` failed for want of rights."""
    rights = ", ".join(map(str, sorted(set(missing))))
    return AuthorizationError(
        f"{what}: Kafka doesn't allow it. Ask whoever runs the cluster for {rights}. {_RIGHTS}"
    )


class Complaints:
    """What a client says in the background: the reason why a call only times out.

    Clear it when something worked: what was wrong before doesn't count any more.
    """

    def __init__(self) -> None:
        self.last: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        # "All brokers are down" and "connection closed" come after the reason, and say less.
        says_less = error.code() == KafkaError._ALL_BROKERS_DOWN or self.hopeless
        if self.last is None or not says_less or error.code() in _HOPELESS:
            self.last = error

    def clear(self) -> None:
        self.last = None

    @property
    def hopeless(self) -> bool:
        return self.last is not None and self.last.code() in _HOPELESS


def client_options(complaints: Complaints) -> dict[str, Any]:
    """What every client is made with, besides its settings."""
    return {"error_cb": complaints, "logger": CLIENT_LOGGER}


def made(kind: Callable[..., C], settings: dict[str, Any], complaints: Complaints) -> C:
    """A client. Raises ConfigError for settings that librdkafka refuses."""
    try:
        return kind(settings, **client_options(complaints))
    except KafkaException as exception:
        raise ConfigError(f"A setting can't be used: {error_of(exception).str()}.") from exception


def error_of(exception: KafkaException) -> KafkaError:
    error = exception.args[0] if exception.args else None
    return error if isinstance(error, KafkaError) else KafkaError(KafkaError._FAIL, str(exception))


def translated(
    error: KafkaError, what: str, *, complaints: Complaints | None = None
) -> StreamsError:
    """The error to raise when `what` failed, such as "Could not commit"."""
    code = error.code()
    if complaints is not None and complaints.last is not None and code in _UNEXPLAINED:
        error = complaints.last
        code = error.code()
    reason = f"{error.str()} ({error.name()})"
    if code in _FENCED:
        return FencedError(f"{what}: another instance of the application took over. {reason}.")
    if code in _MISSING:
        return MissingTopicError(f"{what}: a topic or partition doesn't exist. {reason}.")
    if code in DENIED:
        return AuthorizationError(f"{what}: {reason}. {DENIED[code]} {_RIGHTS}")
    if code in _IN_USE:
        return BrokerError(
            f"{what}: the consumer group is in use. {reason}. Stop the other application with the "
            "same application.id, or give this one another; a group is free again some seconds "
            "after its last member has left."
        )
    remedy = _remedy(error)
    return BrokerError(
        f"{what}: {reason}.{f' {remedy}' if remedy else ''}",
        retriable=code in RETRIABLE or code in _PRODUCER_IS_LOST,
    )


def tried(
    call: Callable[[float], T],
    what: str,
    *,
    deadline: float,
    complaints: Complaints,
    serve: Callable[[], object],
    is_interrupted: Callable[[], bool],
    attempt_s: float = _FIRST_ATTEMPT_S,
) -> T:
    """The result of `call(timeout)`, tried again after passing errors until `deadline`, or until
    `is_interrupted`.

    `serve` has the client's callbacks called, so that its complaints are heard. The first attempt
    is a short one, as they are heard only after it; each one then lasts twice as long.
    """
    while True:
        remaining = deadline - time.monotonic()
        try:
            result = call(max(0.1, min(attempt_s, remaining)))
        except KafkaException as exception:
            error = error_of(exception)
            serve()
            if error.code() not in RETRIABLE or complaints.hopeless or is_interrupted():
                raise translated(error, what, complaints=complaints) from exception
            if time.monotonic() + _PAUSE_S >= deadline:
                raise translated(error, what, complaints=complaints) from exception
            time.sleep(_PAUSE_S)
            attempt_s = min(attempt_s * 2, _LONGEST_ATTEMPT_S)
        else:
            serve()
            complaints.clear()
            return result
