"""What Spark says when a query has failed, as an error of ours that can be read."""

from __future__ import annotations

import re

from headrace.core.errors import AuthorizationError, BrokerError, StreamsError
from headrace.engine.batch import RetryLater
from headrace.engine.report import RemoteTraceback

_RETRY = re.compile(rf"{RetryLater.__name__}: (.*)")
_CAUSE = re.compile(r"^Caused by: (.*)", re.MULTILINE)
_DENIED = re.compile(r"^.*\b(Topic|Group|Cluster)AuthorizationException: (.*)", re.MULTILINE)
_WAITED = re.compile(r"^.*\b(?:Timeout|Disconnect)Exception\b.*", re.MULTILINE)
"""Spark's Kafka clients say so if they have waited in vain."""


def failure_of(text: str) -> StreamsError:
    """The cause of the error has Spark's own text, with all its lines."""
    if (again := _RETRY.search(text)) is not None:
        # A slot has tried its batch again, but not often enough.
        error: StreamsError = BrokerError(again[1], retriable=True)
    elif "Python worker exited unexpectedly" in text:
        error = StreamsError(
            "A Python worker of Spark's died, and so did those that tried the same batch again. "
            "Did it run out of memory, or does a function of the topology end the process? See "
            "the system's log; smaller batches (max.batch.records) or fewer threads "
            "(num.stream.threads) need less memory."
        )
    elif "ExecutorLostFailure" in text:
        error = StreamsError(
            "An executor of Spark's was lost, and so were those that tried the same batch again. "
            "Were they killed for their memory, or did their hosts go away? See the cluster "
            "manager's log; spark.task.maxFailures says how often a slot is tried again."
        )
    elif (refused := _DENIED.search(text)) is not None:
        error = AuthorizationError(
            f"Spark could not read from Kafka: {refused[2].strip()}. Ask whoever runs the cluster "
            "for READ on it. The rights that an application needs are in docs/security.md."
        )
    elif (waited := _WAITED.search(text)) is not None:
        error = BrokerError(f"Spark could not read from Kafka: {waited[0].strip()}", retriable=True)
    else:
        first = text.partition("\n")[0]
        error = StreamsError(f"Spark's query failed: {[first, *_CAUSE.findall(text)][-1]}")
    error.__cause__ = RemoteTraceback(text)
    return error
