"""What the server asks of an application: KafkaStreams, as far as it is needed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from headrace.app.lifecycle import State
from headrace.app.metadata import HostInfo, KeyQueryMetadata, LagInfo, StreamsMetadata
from headrace.app.status import Status
from headrace.core.config import StreamsConfig
from headrace.engine.plan import Plan
from headrace.metrics.name import MetricName, MetricValue
from headrace.query.local_state import LocalState
from headrace.topology.topology import Topology


class Places(Protocol):
    """Says where the partitions of stores are. Who `knows_all` names the host that has it, who
    doesn't names one that knows."""

    @property
    def knows_all(self) -> bool: ...

    def partitions(self, store: str) -> list[int]:
        """Of a global store, which is everywhere, GLOBAL."""
        ...

    def partition_of(self, store: str, key: Any) -> int: ...

    def place(self, store: str, partition: int, *, stale: bool) -> HostInfo | None:
        """The host to ask for a partition; None: it is here. `stale`: a copy will do that is a
        little behind. Raises StoreNotAvailableError if nobody can be asked now."""
        ...


class Application(Protocol):
    topology: Topology
    config: StreamsConfig

    @property
    def state(self) -> State: ...
    @property
    def is_paused(self) -> bool: ...
    @property
    def places(self) -> Places | None:
        """Where partitions are, if that isn't here."""
        ...

    @property
    def plan(self) -> Plan | None: ...
    def status(self) -> Status: ...
    def metrics(self) -> Mapping[MetricName, MetricValue]: ...
    def local_state(self) -> LocalState: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def metadata_for_all_streams_clients(self) -> tuple[StreamsMetadata, ...]: ...
    def query_metadata_for_key(self, store: str, key: Any) -> KeyQueryMetadata: ...
    def all_local_store_partition_lags(self) -> Mapping[str, Mapping[int, LagInfo]]: ...
