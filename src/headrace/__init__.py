"""Kafka Streams for Python."""

from typing import TYPE_CHECKING, Any

from headrace import serdes, stores, timestamps
from headrace.core import handlers
from headrace.core.config import StreamsConfig
from headrace.core.errors import (
    ArgumentError,
    AuthorizationError,
    BrokerError,
    ConfigError,
    FencedError,
    FlushError,
    HandlerError,
    HeadraceError,
    LockError,
    MissingTopicError,
    NotStartedError,
    NullArgumentError,
    ProcessingError,
    RebalancingError,
    SerializationError,
    StateError,
    StoppedError,
    StoreAccessError,
    StoreNotAvailableError,
    StreamsError,
    TopologyError,
    UnknownPartitionError,
    UnknownStoreError,
)
from headrace.core.json_logs import JsonFormatter
from headrace.core.record import (
    ConsumerRecord,
    FixedKeyRecord,
    Headers,
    ProducerRecord,
    Record,
    RecordMetadata,
    TaskId,
    TopicPartition,
    ValueAndTimestamp,
    VersionedRecord,
)
from headrace.core.windowed import Window, Windowed
from headrace.dsl import (
    BranchedKStream,
    BufferConfig,
    CogroupedKStream,
    GlobalKTable,
    KGroupedStream,
    KGroupedTable,
    KStream,
    KTable,
    Materialized,
    SessionWindowedCogroupedKStream,
    SessionWindowedKStream,
    StreamsBuilder,
    Suppressed,
    TimeWindowedCogroupedKStream,
    TimeWindowedKStream,
    with_key,
)
from headrace.metrics.name import MetricName
from headrace.serde.serde import Serde
from headrace.topology.nodes import AutoOffsetReset
from headrace.topology.processor import (
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    Processor,
    ProcessorContext,
    PunctuationType,
    ValueTransformer,
)
from headrace.topology.stores import Backend
from headrace.topology.topology import Topology
from headrace.topology.windows import (
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

if TYPE_CHECKING:
    from headrace.app.lifecycle import State
    from headrace.app.restoration import StateRestoreListener
    from headrace.app.streams import KafkaStreams
    from headrace.app.supervisor import StreamThreadExceptionResponse

_LOADED_LATE = {
    "KafkaStreams": "headrace.app.streams",
    "State": "headrace.app.lifecycle",
    "StateRestoreListener": "headrace.app.restoration",
    "StreamThreadExceptionResponse": "headrace.app.supervisor",
}
"""They bring Kafka's client with them, which those who only test a topology don't need."""


def __getattr__(name: str) -> Any:
    if name in _LOADED_LATE:
        from importlib import import_module

        return getattr(import_module(_LOADED_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ArgumentError",
    "AuthorizationError",
    "AutoOffsetReset",
    "Backend",
    "BranchedKStream",
    "BrokerError",
    "BufferConfig",
    "CogroupedKStream",
    "ConfigError",
    "ConsumerRecord",
    "EmitStrategy",
    "FencedError",
    "FixedKeyProcessor",
    "FixedKeyProcessorContext",
    "FixedKeyRecord",
    "FlushError",
    "GlobalKTable",
    "HandlerError",
    "Headers",
    "HeadraceError",
    "JoinWindows",
    "JsonFormatter",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KafkaStreams",
    "LockError",
    "Materialized",
    "MetricName",
    "MissingTopicError",
    "NotStartedError",
    "NullArgumentError",
    "ProcessingError",
    "Processor",
    "ProcessorContext",
    "ProducerRecord",
    "PunctuationType",
    "RebalancingError",
    "Record",
    "RecordMetadata",
    "Serde",
    "SerializationError",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "SessionWindows",
    "SlidingWindows",
    "State",
    "StateError",
    "StateRestoreListener",
    "StoppedError",
    "StoreAccessError",
    "StoreNotAvailableError",
    "StreamThreadExceptionResponse",
    "StreamsBuilder",
    "StreamsConfig",
    "StreamsError",
    "Suppressed",
    "TaskId",
    "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream",
    "TimeWindows",
    "TopicPartition",
    "Topology",
    "TopologyError",
    "UnknownPartitionError",
    "UnknownStoreError",
    "UnlimitedWindows",
    "ValueAndTimestamp",
    "ValueTransformer",
    "VersionedRecord",
    "Window",
    "Windowed",
    "handlers",
    "serdes",
    "stores",
    "timestamps",
    "with_key",
]
