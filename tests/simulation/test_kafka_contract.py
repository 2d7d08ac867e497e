"""The model of Kafka, by the contract that it shares with a real broker."""

from __future__ import annotations

from itertools import count

import pytest

from headrace.kafka.port import Kafka

from .broker import Broker
from .clients import ModelKafka
from .clock import VirtualClock
from .contract import Cluster, KafkaContract
from .network import GoodNetwork


class ModelCluster:
    def __init__(self, marker_delay_s: float) -> None:
        self._clock = VirtualClock()
        self._broker = Broker(self._clock, lambda: marker_delay_s)
        self._numbers = count()

    def kafka(
        self, application_id: str, *, exactly_once: bool = True, transaction_timeout_s: int = 60
    ) -> Kafka:
        return ModelKafka(
            self._broker,
            GoodNetwork(self._broker, self._clock),
            application_id,
            exactly_once=exactly_once,
            transaction_timeout_s=transaction_timeout_s,
        )

    def name(self, stem: str) -> str:
        return f"{stem}-{next(self._numbers)}"

    def grow(self, topic: str, partitions: int) -> None:
        self._broker.grow(topic, partitions)

    def delete_topic(self, topic: str) -> None:
        self._broker.delete(topic)

    def delete_group(self, group: str) -> None:
        self._broker.delete_group(group)

    def wait(self, seconds: float) -> None:
        self._clock.sleep(seconds)


class TestTheModel(KafkaContract):
    """With markers that are there at once, and with such that come late."""

    @pytest.fixture(params=[0.0, 0.3])
    def cluster(self, request: pytest.FixtureRequest) -> Cluster:
        return ModelCluster(request.param)
