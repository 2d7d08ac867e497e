"""The task that keeps global stores."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.core.clock import Clock
from headrace.core.config import StreamsConfig
from headrace.core.errors import ProcessingError
from headrace.core.handlers import log_and_continue
from headrace.core.record import ConsumerRecord, TopicPartition
from headrace.metrics.recorder import Measurement
from headrace.metrics.task import TaskMetrics
from headrace.runtime.stores import Storage
from headrace.runtime.task import StreamTask, TaskSpec

log = logging.getLogger("headrace")


class GlobalTask:
    """Keeps the global stores of a topology up to date. A record that can't be read is skipped.

    What a processor raises comes out as it is, unless `processing.exception.handler.global.enabled`
    has the handler asked, and that says to continue. Dead letters are not sent: what global stores
    hold is outside of any commit, and every process that reads it would send them again.

    With the storage (and its facts) of another one it goes on from there; `positions` are then to
    be remembered, too.
    """

    def __init__(self, spec: TaskSpec, clock: Clock, *, storage: Storage | None = None) -> None:
        config = StreamsConfig(
            {
                **{key: spec.config[key] for key in spec.config if spec.config.is_given(key)},
                "deserialization.exception.handler": log_and_continue,
                "processing.exception.handler": _handler(spec.config),
                "statestore.cache.max.bytes": 0,
            }
        )
        self._task = StreamTask(
            TaskSpec(spec.id, spec.topology, spec.nodes, spec.inputs, config),
            clock,
            storage=storage,
        )
        self._task.start()

    @property
    def stores(self) -> Mapping[str, Any]:
        return self._task.stores

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The offset after the last record taken of each partition."""
        return self._task.positions

    def facts(self) -> dict[str, dict[str, int]]:
        """As those of a StreamTask."""
        return self._task.facts()

    @property
    def metrics(self) -> TaskMetrics:
        return self._task.metrics

    def take_measurements(self) -> list[Measurement]:
        """As those of a StreamTask."""
        return self._task.take_measurements()

    def update(self, partition: TopicPartition, records: Iterable[ConsumerRecord]) -> None:
        self._task.add_records(partition, records)
        try:
            while self._task.has_records:
                self._task.process_next()
        except ProcessingError as error:
            raise (error.__cause__ or error) from None
        self._task.commit()
        unsent, _ = self._task.take_outbox()
        for topic, *_ in unsent:
            log.warning("Global stores have no producer: a dead letter for %s is dropped", topic)

    def close(self) -> None:
        self._task.close()


def _handler(config: StreamsConfig) -> Any:
    enabled = config["processing.exception.handler.global.enabled"]
    return config["processing.exception.handler"] if enabled else None
