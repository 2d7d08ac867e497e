"""The Kafka clients that the tasks of a process share."""

from __future__ import annotations

from functools import cached_property

from headrace.core.errors import BrokerError, StreamsError
from headrace.kafka.admin import Admin
from headrace.kafka.changelog import ChangelogReader, PartitionReader
from headrace.kafka.positions import GroupReader
from headrace.kafka.settings import ClientSettings

_PATIENCE_S = 30.0
"""Who starts an application with a wrong address wants to know soon."""


class Clients:
    """Each is made when it is first needed."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings

    @cached_property
    def admin(self) -> Admin:
        return Admin(self.settings, timeout_s=min(_PATIENCE_S, self.settings.timeout_s()))

    @cached_property
    def group(self) -> GroupReader:
        return GroupReader(self.settings)

    @cached_property
    def changelogs(self) -> ChangelogReader:
        return ChangelogReader(self.settings)

    @cached_property
    def reader(self) -> PartitionReader:
        return PartitionReader(self.settings)

    def wait_for_kafka(self, error: StreamsError) -> BrokerError | None:
        """Wait for Kafka to answer after a passing error: None, or what to tell if it doesn't
        within task.timeout.ms."""
        timeout_s = self.settings.timeout_s()
        if self.group.wait_until_reachable(timeout_s):
            return None
        servers = self.settings.bootstrap_servers
        return BrokerError(
            f"Kafka at {servers} could not be reached for {timeout_s:.0f} s (task.timeout.ms), "
            f"after this: {error} Nothing is lost: start the application again when the brokers "
            "are there."
        )

    def close(self) -> None:
        for client in ("admin", "group", "changelogs", "reader"):
            if client in self.__dict__:
                self.__dict__.pop(client).close()
