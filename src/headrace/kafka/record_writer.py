"""Writes single records, and waits until Kafka has them."""

from __future__ import annotations

import threading
import time
from typing import Any

from confluent_kafka import KafkaException, Producer

from headrace.core.errors import BrokerError
from headrace.core.record import ProducerRecord
from headrace.kafka.errors import Complaints, error_of, made, translated
from headrace.kafka.settings import ClientSettings

_POLL_S = 0.05


class RecordWriter:
    """A producer for many threads. Each waits for its own record."""

    def __init__(self, settings: ClientSettings) -> None:
        self._timeout_s = settings.timeout_s()
        self._complaints = Complaints()
        options = {"linger.ms": "0", "delivery.report.only.error": False}
        self._producer = made(Producer, settings.producer(**options), self._complaints)

    def write(self, record: ProducerRecord) -> None:
        """Raises StreamsError if it can't be written."""
        done = threading.Event()
        failed: list[Any] = []

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                failed.append(error)
            done.set()

        what = f"Could not write to {record.topic}"
        # A timestamp of 0 would mean "now" to librdkafka; 1 is the nearest it can send.
        stamp = record.timestamp or (0 if record.timestamp is None else 1)
        try:
            self._producer.produce(
                record.topic,
                record.value,
                record.key,
                -1 if record.partition is None else record.partition,
                delivered,
                None,
                stamp,
                list(record.headers),
            )
        except KafkaException as exception:
            raise translated(error_of(exception), what) from exception
        except BufferError:
            raise BrokerError(f"{what}: too many records wait already.", retriable=True) from None
        deadline = time.monotonic() + self._timeout_s
        while not done.is_set():
            self._producer.poll(_POLL_S)
            if time.monotonic() > deadline:
                raise BrokerError(f"{what}: no answer in {self._timeout_s:.0f} s.", retriable=True)
        if failed:
            raise translated(failed[0], what, complaints=self._complaints)

    def close(self) -> None:
        self._producer.flush(self._timeout_s)
