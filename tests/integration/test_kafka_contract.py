"""A real broker, by the contract that the model of the simulation is held to."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from headrace.core.config import StreamsConfig
from headrace.embedded import EmbeddedKafka
from headrace.kafka.admin import Admin
from headrace.kafka.clients import Clients
from headrace.kafka.settings import ClientSettings
from tests.simulation.contract import KafkaContract


class RealCluster:
    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._clients: list[Clients] = []
        self._admin = Admin(self._settings("admin"))

    def kafka(
        self, application_id: str, *, exactly_once: bool = True, transaction_timeout_s: int = 60
    ) -> Clients:
        clients = Clients(self._settings(application_id, exactly_once, transaction_timeout_s))
        self._clients.append(clients)
        return clients

    def name(self, stem: str) -> str:
        return f"{stem}-{uuid.uuid4().hex[:8]}"

    def grow(self, topic: str, partitions: int) -> None:
        admin = AdminClient({"bootstrap.servers": self._bootstrap_servers})
        for future in admin.create_partitions([NewPartitions(topic, partitions)]).values():
            future.result(30)
        while self._admin.describe([topic])[topic].partitions < partitions:
            time.sleep(0.05)

    def delete_topic(self, topic: str) -> None:
        self._admin.delete([topic])

    def delete_group(self, group: str) -> None:
        self._admin.delete_group(group)

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        for clients in self._clients:
            clients.close()
        self._admin.close()

    def _settings(
        self, application_id: str, exactly_once: bool = True, transaction_timeout_s: int = 60
    ) -> ClientSettings:
        guarantee = "exactly_once_v2" if exactly_once else "at_least_once"
        given = {
            "application.id": application_id,
            "bootstrap.servers": self._bootstrap_servers,
            "processing.guarantee": guarantee,
            "producer.transaction.timeout.ms": transaction_timeout_s * 1000,
        }
        return ClientSettings(StreamsConfig(given))


class TestARealBroker(KafkaContract):
    @pytest.fixture
    def cluster(self, embedded_kafka: EmbeddedKafka) -> Iterator[RealCluster]:
        cluster = RealCluster(embedded_kafka.bootstrap_servers)
        yield cluster
        cluster.close()
