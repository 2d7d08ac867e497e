"""The Processor API: what users implement, and the context they are given."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from headrace.core.config import StreamsConfig
from headrace.core.record import FixedKeyRecord, Record, RecordMetadata, TaskId
from headrace.serde.serde import Serde

KIn = TypeVar("KIn", contravariant=True)
VIn = TypeVar("VIn", contravariant=True)
KOut = TypeVar("KOut")
VOut = TypeVar("VOut")


class PunctuationType(Enum):
    """What clock a punctuation follows.

    STREAM_TIME moves with the timestamps of records; it stands still while none arrive.
    WALL_CLOCK_TIME is the clock of the machine.
    """

    STREAM_TIME = "stream_time"
    WALL_CLOCK_TIME = "wall_clock_time"


class Cancellable(Protocol):
    """A punctuation that was scheduled."""

    def cancel(self) -> None:
        """Stop the punctuation. May be called from within its own callback."""
        ...


class ProcessingContext(Protocol):
    """What a processor can ask of the task it runs in."""

    @property
    def application_id(self) -> str:
        """The setting `application.id`."""
        ...

    @property
    def task_id(self) -> TaskId:
        """Which part of the topology, and which partition, this is."""
        ...

    @property
    def config(self) -> StreamsConfig:
        """All settings, with their defaults."""
        ...

    @property
    def key_serde(self) -> Serde[Any]:
        """The configured default."""
        ...

    @property
    def value_serde(self) -> Serde[Any]:
        """The configured default."""
        ...

    @property
    def record_metadata(self) -> RecordMetadata | None:
        """Where the current record was read; in a punctuation it has no topic. None in `init`."""
        ...

    @property
    def current_stream_time_ms(self) -> int:
        """The highest timestamp that the task has seen; -1 before the first record."""
        ...

    @property
    def current_system_time_ms(self) -> int:
        """The wall clock; in the test driver it stands still until it is advanced."""
        ...

    def get_state_store(self, name: str) -> Any:
        """A store that the processor is connected to, or a global one (read-only). Annotate it
        with a type of `headrace.stores`, such as `KeyValueStore[str, int]`.

        Raises StreamsError if the processor isn't connected to it."""
        ...

    def schedule(
        self,
        interval: timedelta,
        kind: PunctuationType,
        callback: Callable[[int], None],
        *,
        start_ms: int | None = None,
    ) -> Cancellable:
        """Call `callback(timestamp)` every `interval`. Missed intervals collapse into one call.

        `start_ms` moves the grid of intervals to begin there. Raises ArgumentError if the interval
        is less than a millisecond.
        """
        ...

    def commit(self) -> None:
        """Ask for a commit soon."""
        ...


class ProcessorContext(ProcessingContext, Protocol[KOut, VOut]):
    """What a Processor can ask of the task it runs in, and where it forwards to."""

    def forward(self, record: Record[KOut, VOut], child: str | None = None) -> None:
        """Hand a record to all children in order, or to one by its name; returns when they are
        done. Raises StreamsError if there is no child of that name."""
        ...


class FixedKeyProcessorContext(ProcessingContext, Protocol[KOut, VOut]):
    """What a FixedKeyProcessor can ask of the task it runs in, and where it forwards to."""

    def forward(self, record: FixedKeyRecord[KOut, VOut], child: str | None = None) -> None:
        """Hand a record to all children in order, or to one by its name; returns when they are
        done. Raises StreamsError if there is no child of that name."""
        ...


class Processor(Generic[KIn, VIn, KOut, VOut]):
    """Processes one record at a time, with state stores and punctuations. A supplier must make a
    new one at every call; the class itself is such a supplier."""

    context: ProcessorContext[KOut, VOut]

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Called once before the first record."""
        self.context = context

    def process(self, record: Record[KIn, VIn]) -> None:
        """Called for each record, also those without a key or a value. What it doesn't forward
        ends here."""
        raise NotImplementedError

    def close(self) -> None:
        """Called once at the end."""


class FixedKeyProcessor(Generic[KIn, VIn, VOut]):
    """As Processor, but the key of its records can't be changed, so nothing is repartitioned."""

    context: FixedKeyProcessorContext[KIn, VOut]

    def init(self, context: FixedKeyProcessorContext[KIn, VOut]) -> None:
        """Called once before the first record."""
        self.context = context

    def process(self, record: FixedKeyRecord[KIn, VIn]) -> None:
        """Called for each record, also those without a key or a value. What it doesn't forward
        ends here."""
        raise NotImplementedError

    def close(self) -> None:
        """Called once at the end."""


class ValueTransformer(Generic[KIn, VIn, VOut]):
    """What `KTable.transform_values` runs. Its context can't forward."""

    context: ProcessingContext

    def init(self, context: ProcessingContext) -> None:
        """Called once before the first record."""
        self.context = context

    def transform(self, key: KIn, value: VIn | None) -> VOut | None:
        """The new value; also called with None, for a deletion."""
        raise NotImplementedError

    def close(self) -> None:
        """Called once at the end."""
