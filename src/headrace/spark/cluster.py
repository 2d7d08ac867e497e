"""Spark, as that which runs the slots of an application."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from headrace.core.config import StreamsConfig
from headrace.core.errors import StreamsError
from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan
from headrace.engine.slot_runner import ClusterLost, OnBatch
from headrace.kafka.port import Position
from headrace.kafka.settings import ClientSettings
from headrace.spark.events import EventServer, Send
from headrace.spark.handover import write_positions
from headrace.spark.query import SlotQuery
from headrace.spark.session import borrow_session, check_secrets, is_alive, return_session, tuned

log = logging.getLogger("headrace")


class SparkCluster:
    """A session that is given is used and left running; without one, one is made when it is first
    needed, and made anew if its Java process dies. `on_event` hears what workers tell;
    `node_program` is the module that serves the state of a host, if that is wanted."""

    def __init__(
        self,
        config: StreamsConfig,
        session: SparkSession | None,
        on_event: Callable[[list[Any], Send], None],
        node_program: str | None,
    ) -> None:
        self._config = config
        self._is_given = session is not None
        self._session = session
        self._on_event = on_event
        self._node_program = node_program
        self._events: EventServer | None = None

    def cores(self) -> int:
        if self._session is not None and not is_alive(self._session):
            if self._is_given:
                raise StreamsError(
                    "The SparkSession that the application was given has ended. Start the "
                    "application again with one that runs."
                )
            self._return()
        if self._session is None:
            self._session = borrow_session(self._config, log.info)
        check_secrets(self._session, self._config)
        if self._events is None:
            host = self._session.conf.get("spark.driver.host") or "127.0.0.1"
            self._events = EventServer(host, self._on_event)
        return int(self._session.sparkContext.defaultParallelism)

    def runner(self, plan: Plan, on_batch: OnBatch) -> SlotQuery:
        session, events = self._session, self._events
        assert session is not None
        assert events is not None
        return SlotQuery(
            tuned(session, self._config), plan, events.address, self._node_program, on_batch
        )

    def explain(self, error: Exception) -> Exception:
        if self._session is None or is_alive(self._session):
            return error
        lost = ClusterLost(
            "Spark's Java process has ended. Did it run out of memory, or was it killed? "
            "spark.driver.memory gives it more. A new one is started."
        )
        lost.__cause__ = error
        return lost

    def hand_over(self, positions: Callable[[], Mapping[TopicPartition, Position]]) -> None:
        session = self._session
        assert session is not None
        settings = ClientSettings(self._config)
        write_positions(session, settings, self._config.application_id, positions)

    def close(self) -> None:
        if self._events is not None:
            self._events.close()
        if not self._is_given:
            self._return()

    def _return(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            return_session(session)
