"""A log that several processes write in turns: a topic with one partition."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from headrace.core.errors import FencedError, StreamsError
from headrace.core.record import TopicPartition
from headrace.kafka.admin import Admin
from headrace.kafka.port import TopicSpec
from headrace.kafka.positions import LogBounds
from headrace.kafka.producer import TransactionalProducer
from headrace.kafka.settings import ClientSettings
from headrace.kafka.topic_tail import TopicTail

_CONFIG = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_PATIENCE_S = 15.0
"""Somebody waits for the answer."""


class SharedLog:
    """Everybody writes with the same transactional id. So whoever begins to write takes that right
    from the one who had it last: if that one is not done yet, its transaction fails with
    FencedError, and its record is never seen. What has been read up to `Turn.end` is therefore all
    that comes before what is written in a turn.
    """

    def __init__(self, settings: ClientSettings, topic: str, transactional_id: str) -> None:
        self.partition = TopicPartition(topic, 0)
        self._settings = settings
        self._transactional_id = transactional_id
        self._writing = threading.Lock()
        self._producer: TransactionalProducer | None = None
        admin = Admin(settings)
        try:
            admin.create([TopicSpec(topic, 1, config=_CONFIG)])
        finally:
            admin.close()
        self._bounds = LogBounds(settings, timeout_s=_PATIENCE_S)
        self._bounds_lock = threading.Lock()
        self._tail = TopicTail(settings, {self.partition: self.begin()})

    def begin(self) -> int:
        """The offset of the first record."""
        with self._bounds_lock:
            return self._bounds.begin(self.partition)

    def end(self) -> int:
        """The offset after the last record."""
        with self._bounds_lock:
            return self._bounds.ends([self.partition])[self.partition]

    def read(self, timeout_s: float) -> tuple[list[tuple[int, bytes]], int]:
        """The next records, with their offsets, and the offset that is next. Only for one thread,
        which is given each record once."""
        records = self._tail.poll(timeout_s)
        found = [(record.offset, record.value or b"") for record in records]
        return found, self._tail.positions[self.partition]

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Write in a turn of one's own. What was written is there when it ends without an error.
        Raises FencedError if another process took its turn meanwhile."""
        with self._writing:
            producer = self._producer
            if producer is None or not producer.usable:
                self._producer = None
                producer = TransactionalProducer(
                    self._settings, self._transactional_id, timeout_s=_PATIENCE_S
                )
                producer.open()
                self._producer = producer
            try:
                yield Turn(producer, self.partition, self.end())
                producer.commit(None, {})
            except BaseException as error:
                with suppress(StreamsError):
                    producer.abort()
                if isinstance(error, FencedError) or not producer.usable:
                    producer.close()
                    self._producer = None
                raise

    def close(self) -> None:
        """The thread that reads must have ended."""
        self._tail.close()
        with self._bounds_lock:
            self._bounds.close()
        if self._producer is not None:
            self._producer.close()


class Turn:
    """The right to write, for a while."""

    def __init__(self, producer: TransactionalProducer, partition: TopicPartition, end: int):
        self._producer = producer
        self._partition = partition
        self.end = end
        """The offset after all that is in the log."""
        self._next = end

    def append(self, value: bytes) -> int:
        """Write a record. Gives its offset: nobody else can have written since the turn began."""
        topic, number = self._partition
        self._producer.send([(topic, number, None, value, None, ())])
        offset, self._next = self._next, self._next + 1
        return offset
