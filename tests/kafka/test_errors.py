"""What goes wrong with Kafka, as errors that say what to do."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.core.errors import (
    AuthorizationError,
    BrokerError,
    ConfigError,
    FencedError,
    MissingTopicError,
)
from headrace.kafka.errors import (
    CLIENT_LOGGER,
    Complaints,
    error_of,
    made,
    translated,
    tried,
)


@pytest.mark.parametrize(
    ("code", "kind", "retriable", "text"),
    [
        (KafkaError._TRANSPORT, BrokerError, True, "It failed: Local: Broker transport failure"),
        (KafkaError.NOT_COORDINATOR, BrokerError, True, "NOT_COORDINATOR"),
        (KafkaError._FENCED, FencedError, None, "took over"),
        (KafkaError.PRODUCER_FENCED, FencedError, None, "took over"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, MissingTopicError, None, "doesn't exist"),
        (KafkaError.UNKNOWN_MEMBER_ID, BrokerError, False, "Stop the other application"),
        (KafkaError.ILLEGAL_GENERATION, BrokerError, False, "Stop the other application"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AuthorizationError, False, "Ask for READ on top"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, AuthorizationError, False, "Ask for READ on gro"),
        (
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            AuthorizationError,
            False,
            "Ask for WRITE on transactional ids",
        ),
        (KafkaError._AUTHENTICATION, BrokerError, False, "Check security.protocol"),
        (KafkaError.INVALID_REQUEST, BrokerError, False, "INVALID_REQUEST"),
    ],
)
def test_errors_are_grouped_by_what_can_be_done(
    code: int, kind: type[Exception], retriable: bool | None, text: str
) -> None:
    error = translated(KafkaError(code), "It failed")
    assert type(error) is kind
    assert getattr(error, "retriable", None) is retriable
    assert text in str(error)


def test_the_reason_behind_a_timeout_is_told() -> None:
    complaints = Complaints()
    complaints(KafkaError(KafkaError._AUTHENTICATION, "wrong password"))
    complaints(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    error = translated(KafkaError(KafkaError._TIMED_OUT), "It failed", complaints=complaints)
    assert "wrong password" in str(error)
    assert not getattr(error, "retriable", True)
    assert complaints.hopeless


def test_a_closed_connection_does_not_hide_why_it_was_closed() -> None:
    complaints = Complaints()
    complaints(KafkaError(KafkaError._SSL, "certificate verify failed"))
    complaints(KafkaError(KafkaError._TRANSPORT, "closed after 8ms in state SSL_HANDSHAKE"))
    assert complaints.hopeless
    complaints(KafkaError(KafkaError._AUTHENTICATION, "wrong password"))
    assert complaints.last is not None
    assert complaints.last.str() == "wrong password"


def test_all_brokers_are_down_is_better_than_nothing() -> None:
    complaints = Complaints()
    complaints(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    error = translated(KafkaError(KafkaError._TIMED_OUT), "It failed", complaints=complaints)
    assert "1/1 brokers are down" in str(error)
    assert not complaints.hopeless


def test_an_exception_without_an_error_is_still_one() -> None:
    assert error_of(KafkaException("odd")).code() == KafkaError._FAIL


def test_settings_that_librdkafka_refuses_are_wrong_settings() -> None:
    with pytest.raises(ConfigError, match=r"can't be used: .*batch\.size"):
        made(Producer, {"batch.size": "-5"}, Complaints())


class Calls:
    def __init__(self, *failures: int) -> None:
        self.failures = list(failures)
        self.served = 0

    def __call__(self, timeout: float) -> str:
        assert 0 < timeout <= 10
        if self.failures:
            raise KafkaException(KafkaError(self.failures.pop(0)))
        return "done"

    def serve(self) -> None:
        self.served += 1


def run(
    calls: Calls,
    complaints: Complaints | None = None,
    seconds: float = 10,
    *,
    is_interrupted: bool = False,
) -> str:
    return tried(
        calls,
        "It failed",
        deadline=time.monotonic() + seconds,
        complaints=complaints or Complaints(),
        serve=calls.serve,
        is_interrupted=lambda: is_interrupted,
    )


def test_who_is_interrupted_does_not_try_again() -> None:
    calls = Calls(KafkaError._TRANSPORT, KafkaError._TRANSPORT)

    with pytest.raises(BrokerError):
        run(calls, is_interrupted=True)

    assert len(calls.failures) == 1


def test_passing_errors_are_tried_again() -> None:
    calls = Calls(KafkaError._TRANSPORT, KafkaError.NOT_COORDINATOR)
    complaints = Complaints()
    complaints(KafkaError(KafkaError._TRANSPORT, "was down"))
    assert run(calls, complaints) == "done"
    assert calls.served == 3
    assert complaints.last is None


def test_until_it_is_too_late() -> None:
    calls = Calls(*[KafkaError._TRANSPORT] * 5)
    with pytest.raises(BrokerError) as raised:
        run(calls, seconds=0.25)
    assert raised.value.retriable
    assert len(calls.failures) >= 2


def test_other_errors_are_not_tried_again() -> None:
    calls = Calls(KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._TRANSPORT)
    with pytest.raises(BrokerError) as raised:
        run(calls)
    assert not raised.value.retriable
    assert len(calls.failures) == 1


def test_neither_is_a_wrong_password() -> None:
    complaints = Complaints()
    complaints(KafkaError(KafkaError._AUTHENTICATION, "wrong password"))
    with pytest.raises(BrokerError, match="wrong password"):
        run(Calls(KafkaError._TIMED_OUT), complaints)


def test_what_a_client_says_again_and_again_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    for milliseconds in range(3):
        for client in ("one", "two"):
            state = f"(after {milliseconds}ms in state UP)"
            CLIENT_LOGGER.warning(f"FAIL [{client}] Connection refused {state}")
    assert [record.getMessage() for record in caplog.records] == [
        "FAIL [one] Connection refused (after 0ms in state UP)",
        "FAIL [two] Connection refused (after 0ms in state UP)",
    ]
