"""A lease: of several processes one has it, and another if that one is gone."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException

from headrace.core.errors import BrokerError, StreamsError
from headrace.kafka.admin import Admin
from headrace.kafka.errors import RETRIABLE, Complaints, error_of, made, translated
from headrace.kafka.settings import ClientSettings

_LOG = logging.getLogger("headrace.kafka")
_POLL_S = 0.2
_FETCH_WAIT_MS = 500
_SESSION_MS = 10_000
_LEAVE_S = 5.0
"""So long it may take to leave the group. If Kafka is away, the session ends by itself."""


class Lease:
    """Held by the member of a consumer group that has partition 0 of a topic.

    Others find the holder by its client id, which is `name`. A process that is cut off from Kafka
    loses it after `session.timeout.ms`; it is told so at about the same time, so that what it does
    must be fenced in other ways as well.
    """

    def __init__(
        self,
        settings: ClientSettings,
        group: str,
        topic: str,
        name: str,
    ) -> None:
        self._settings = settings
        self._group = group
        self._topic = topic
        self._changed: Callable[[bool], None] = _ignore
        self._held = False
        self._refusal: StreamsError | None = None
        self._complaints = Complaints()
        self._stopped = threading.Event()
        options = {
            "group.id": group,
            "client.id": name,
            "session.timeout.ms": _SESSION_MS,
            "heartbeat.interval.ms": _SESSION_MS // 5,
            "auto.offset.reset": "latest",
            # Who has it keeps it when others come and go.
            "partition.assignment.strategy": "cooperative-sticky",
        }
        config = settings.consumer("main", _FETCH_WAIT_MS, **options)
        self._consumer = made(Consumer, config, self._complaints)
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def start(self, changed: Callable[[bool], None] | None = None) -> None:
        """Take part. `changed(holds)` is called in a thread of its own: with True after it was
        given, with False before another can have it."""
        self._changed = changed or _ignore
        self._consumer.subscribe(
            [self._topic],
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._revoked,
        )
        self._thread.start()

    def is_held(self) -> bool:
        """Raises what keeps it from being had, if it can't be."""
        if self._refusal is not None:
            raise self._refusal
        return self._held

    def close(self) -> None:
        """Let another have it."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_LEAVE_S)

    def holder(self) -> str | None:
        """The name of the process that has it now; None if nobody has, or it isn't known."""
        admin = Admin(self._settings, timeout_s=5.0)
        try:
            return admin.holder_of(self._group, self._topic)
        except BrokerError as error:
            _LOG.warning("%s", error)
            return None
        finally:
            admin.close()

    # The thread

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                try:
                    # To poll is to stay in the group, and to hear of changes; what is read is not
                    # looked at.
                    message = self._consumer.poll(_POLL_S)
                    if message is not None and (error := message.error()) is not None:
                        self._hear(error)
                except KafkaException as exception:
                    _LOG.warning("%s", translated(error_of(exception), "The lease is in doubt"))
        finally:
            self._consumer.close()
            self._set(False)

    def _hear(self, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF or error.code() in RETRIABLE:
            return
        if self._refusal is None:
            self._refusal = translated(error, f"Could not join group {self._group}")
            _LOG.warning("%s", self._refusal)

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        if any(partition.partition == 0 for partition in partitions):
            self._set(True)

    def _revoked(self, consumer: Any, partitions: list[Any]) -> None:
        if any(partition.partition == 0 for partition in partitions):
            self._set(False)

    def _set(self, held: bool) -> None:
        if held == self._held:
            return
        self._held = held
        _LOG.debug("%s: this process %s", self._group, "leads" if held else "follows")
        try:
            self._changed(held)
        except Exception:
            # An error in a callback of the client would end the thread that keeps the lease.
            _LOG.exception("The lease has changed, but not all that depends on it")


def _ignore(held: bool) -> None:
    """Nobody wants to know."""
