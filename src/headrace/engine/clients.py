"""The Kafka clients that the tasks of a process share."""

from __future__ import annotations

from functools import cached_property

from headrace.kafka.changelog import ChangelogReader, PartitionReader
from headrace.kafka.positions import GroupReader
from headrace.kafka.settings import ClientSettings


class Clients:
    """Each is made when it is first needed."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings

    @cached_property
    def group(self) -> GroupReader:
        return GroupReader(self.settings)

    @cached_property
    def changelogs(self) -> ChangelogReader:
        return ChangelogReader(self.settings)

    @cached_property
    def reader(self) -> PartitionReader:
        return PartitionReader(self.settings)

    def close(self) -> None:
        for client in ("group", "changelogs", "reader"):
            if client in self.__dict__:
                self.__dict__.pop(client).close()
