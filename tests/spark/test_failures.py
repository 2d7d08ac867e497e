"""Errors of Spark's that are told as what they are."""

from __future__ import annotations

from headrace import AuthorizationError, BrokerError
from headrace.spark.failures import failure_of

DENIED = """\
Job aborted due to stage failure: Task 0 in stage 3.0 failed 8 times
Caused by: org.apache.kafka.common.errors.TopicAuthorizationException: \
Not authorized to access topics: [orders]
\tat org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer.fetch"""


def test_a_topic_that_may_not_be_read() -> None:
    error = failure_of(DENIED)
    assert isinstance(error, AuthorizationError)
    assert not error.retriable
    assert "Not authorized to access topics: [orders]" in str(error)
    assert "READ" in str(error)


def test_kafka_that_does_not_answer() -> None:
    error = failure_of("Query failed\nCaused by: java.util.concurrent.TimeoutException: no answer")
    assert isinstance(error, BrokerError)
    assert error.retriable


def test_executors_that_are_lost_again_and_again() -> None:
    error = failure_of(
        "An exception was raised by the Python Proxy. Return Message: Traceback\n"
        "Job aborted due to stage failure: Task 1 in stage 7.0 failed 4 times, most recent "
        "failure: Lost task 1.3 in stage 7.0: ExecutorLostFailure (executor 11 exited)"
    )
    assert "An executor of Spark's was lost" in str(error)
    assert "spark.task.maxFailures" in str(error)
