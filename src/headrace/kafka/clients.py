"""The real clients behind the port to Kafka, which the tasks of a process share."""

from __future__ import annotations

from functools import cached_property

from headrace.core.errors import BrokerError, StreamsError
from headrace.kafka.admin import Admin
from headrace.kafka.changelog import ChangelogReader, PartitionReader
from headrace.kafka.internal_topics import claim_topic
from headrace.kafka.lease import Lease
from headrace.kafka.port import SlotProducer
from headrace.kafka.positions import GroupReader
from headrace.kafka.producer import PlainProducer, TransactionalProducer
from headrace.kafka.settings import ClientSettings

_PATIENCE_S = 30.0
"""Who starts an application with a wrong address wants to know soon."""


class Clients:
    """Each is made when it is first needed."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings

    @cached_property
    def admin(self) -> Admin:
        return Admin(self._settings, timeout_s=min(_PATIENCE_S, self._settings.timeout_s()))

    @cached_property
    def group(self) -> GroupReader:
        return GroupReader(self._settings)

    @cached_property
    def changelogs(self) -> ChangelogReader:
        return ChangelogReader(self._settings)

    @cached_property
    def reader(self) -> PartitionReader:
        return PartitionReader(self._settings)

    def producer(self, slot: int) -> SlotProducer:
        if self._settings.exactly_once:
            return self.producer_named(str(slot))
        return PlainProducer(self._settings, self.group)

    def producer_named(self, name: str) -> SlotProducer:
        settings = self._settings
        return TransactionalProducer(settings, f"{settings.application_id}-{name}")

    def lease(self, instance: str) -> Lease:
        name = claim_topic(self._settings.application_id)
        lease = Lease(self._settings, name, name, instance)
        lease.start()
        return lease

    def wait_for_kafka(self, error: StreamsError) -> BrokerError | None:
        timeout_s = self._settings.timeout_s()
        if self.group.wait_until_reachable(timeout_s):
            return None
        servers = self._settings.bootstrap_servers
        return BrokerError(
            f"Kafka at {servers} could not be reached for {timeout_s:.0f} s (task.timeout.ms), "
            f"after this: {error} Nothing is lost: start the application again when the brokers "
            "are there."
        )

    def close(self) -> None:
        for client in ("admin", "group", "changelogs", "reader"):
            if client in self.__dict__:
                self.__dict__.pop(client).close()
