"""How the result of an operation is kept in a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.core.duration import to_ms
from headrace.core.errors import ArgumentError
from headrace.dsl.handle import first
from headrace.serde.serde import Serde, SerdeLike
from headrace.topology.logical_graph import LogicalGraph
from headrace.topology.naming import check_name
from headrace.topology.stores import (
    Backend,
    KeyValueStoreSpec,
    SessionStoreSpec,
    StoreSpec,
    VersionedStoreSpec,
    WindowStoreSpec,
)
from headrace.topology.windows import (
    EmitStrategy,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    # What no serde tells is Any, not an error that asks for an annotation.
    K = TypeVarWithDefault("K", default=Any)
    V = TypeVarWithDefault("V", default=Any)
else:
    K = TypeVar("K")
    V = TypeVar("V")


@dataclass(frozen=True)
class Materialized(Generic[K, V]):
    """How a table is kept in a store. Where one is expected, a plain name will do.

    `name`: the store can be queried by it. Without a name, some tables have no store at all.
    `logging`: updates go to a changelog topic, whose settings are in `log_config`.
    `caching`: updates of a key are merged between commits.
    `retention`: how long windows are kept, at least as long as they can change.
    `backend`: where the store keeps its entries; None: as configured.
    `supplier`: a store spec in place of a name: its name, kind, retention and backend are used,
    but the serdes, logging and caching of the Materialized. A VersionedStoreSpec makes the table
    versioned.

    Raises TopologyError if the name can't be used, ArgumentError if the retention is negative or
    both a backend and a supplier are given.
    """

    name: str | None = None
    key: Serde[K] | None = field(default=None, kw_only=True)
    value: Serde[V] | None = field(default=None, kw_only=True)
    logging: bool = field(default=True, kw_only=True)
    log_config: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    caching: bool = field(default=True, kw_only=True)
    retention: timedelta | None = field(default=None, kw_only=True)
    backend: Backend | None = field(default=None, kw_only=True)
    supplier: StoreSpec | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.name is not None:
            check_name(self.name)
        if self.retention is not None and to_ms(self.retention, "The retention") < 0:
            raise ArgumentError(f"The retention must not be negative, but is {self.retention}")
        if self.supplier is not None and (self.backend is not None or self.name is not None):
            raise ArgumentError(
                f"The Materialized has the supplier {self.supplier.name!r}, which decides name and "
                "backend. Give a supplier, or a name and a backend."
            )

    @property
    def store_name(self) -> str | None:
        """The given name, or that of the supplier."""
        return self.supplier.name if self.supplier else self.name

    @property
    def is_versioned(self) -> bool:
        """Whether the supplier makes the table versioned."""
        return isinstance(self.supplier, VersionedStoreSpec)


MaterializedLike = str | Materialized[K, V] | None
"""A Materialized, only its name, or None: none was given."""


def as_materialized(given: str | Materialized[Any, Any] | None) -> Materialized[Any, Any] | None:
    if isinstance(given, StoreSpec):
        raise ArgumentError(
            f"{given.name!r} is the spec of a store. Give it as Materialized(supplier=…)."
        )
    if given is None or isinstance(given, Materialized):
        return given
    return Materialized(given)


@dataclass(frozen=True, slots=True)
class Materialization:
    """A Materialized in its place: with a name, given or generated, and all serdes that are known.

    `queryable`: the name was given, so there must be a store.
    """

    options: Materialized[Any, Any]
    name: str
    queryable: bool
    key_serde: SerdeLike
    value_serde: SerdeLike
    backend: Backend | None

    @property
    def queryable_name(self) -> str | None:
        return self.name if self.queryable else None

    def or_serdes(self, key: SerdeLike = None, value: SerdeLike = None) -> Materialization:
        """With these serdes where none were given."""
        return replace(
            self,
            key_serde=first(self.key_serde, key),
            value_serde=first(self.value_serde, value),
        )

    def key_value_store(self) -> StoreSpec:
        supplier = self.options.supplier
        if isinstance(supplier, VersionedStoreSpec):
            return replace(supplier, **{**self._common(), "caching": False})
        if supplier is not None:
            checked = self._of_kind(supplier, KeyValueStoreSpec)
            return _timestamped(checked, self._common())
        return KeyValueStoreSpec(
            name=self.name, backend=self.backend, timestamped=True, headers=None, **self._common()
        )

    def window_store(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows, emit: EmitStrategy
    ) -> StoreSpec:
        """Raises ArgumentError if the retention is shorter than a window can change."""
        retention_ms = self._retention_ms(windows.retention_ms)
        at_close = emit is EmitStrategy.ON_WINDOW_CLOSE
        common = self._common()
        if isinstance(windows, SlidingWindows):
            window_ms = windows.difference_ms
            common["caching"] = common["caching"] and not at_close
        else:
            window_ms = windows.size_ms
        if self.options.supplier is not None:
            supplier = self._of_kind(self.options.supplier, WindowStoreSpec)
            return _timestamped(supplier, common)
        return WindowStoreSpec(
            name=self.name,
            backend=self.backend,
            retention_ms=retention_ms,
            window_ms=window_ms,
            timestamped=True,
            headers=None,
            time_ordered=at_close,
            **common,
        )

    def session_store(self, windows: SessionWindows, emit: EmitStrategy) -> StoreSpec:
        """Raises ArgumentError if the retention is shorter than a session can change."""
        retention_ms = self._retention_ms(windows.retention_ms)
        at_close = emit is EmitStrategy.ON_WINDOW_CLOSE
        common = self._common()
        common["caching"] = common["caching"] and not at_close
        if self.options.supplier is not None:
            return replace(self._of_kind(self.options.supplier, SessionStoreSpec), **common)
        return SessionStoreSpec(
            name=self.name,
            backend=self.backend,
            retention_ms=retention_ms,
            headers=None,
            time_ordered=at_close,
            **common,
        )

    def _common(self) -> dict[str, Any]:
        return {
            "key_serde": self.key_serde,
            "value_serde": self.value_serde,
            "logging": self.options.logging,
            "log_config": self.options.log_config if self.options.logging else {},
            "caching": self.options.caching,
        }

    def _retention_ms(self, needed_ms: int) -> int:
        if self.options.retention is None:
            return needed_ms
        retention_ms = to_ms(self.options.retention, "retention")
        if retention_ms < needed_ms:
            raise ArgumentError(
                f"Store {self.name!r} must keep its windows as long as they can change, which is "
                f"{needed_ms} ms with their grace period, but its retention is {retention_ms} ms."
            )
        return retention_ms

    def _of_kind(self, supplier: StoreSpec, kind: type[_Spec]) -> _Spec:
        if not isinstance(supplier, kind):
            raise ArgumentError(
                f"The table needs a {kind.__name__}, but its supplier {supplier.name!r} is a "
                f"{type(supplier).__name__}."
            )
        return supplier


_Spec = TypeVar("_Spec", bound=StoreSpec)


def _timestamped(
    supplier: KeyValueStoreSpec | WindowStoreSpec, common: dict[str, Any]
) -> StoreSpec:
    """A plain persistent store has no room for the timestamps, as in Kafka Streams."""
    forgets = not supplier.timestamped and supplier.backend is Backend.PERSISTENT
    return replace(supplier, **common, timestamped=True, forgets_timestamps=forgets)


def materialize(
    graph: LogicalGraph, given: Materialized[Any, Any] | None, prefix: str
) -> Materialization:
    """Put a Materialized in its place. Without a name of its own, one is generated."""
    options = given or Materialized()
    name = options.store_name
    if name is None:
        name = graph.naming.generate_store(prefix)
        graph.naming.note_unnamed_store(name, logged=options.logging)
    return Materialization(
        options,
        name,
        options.store_name is not None,
        options.key,
        options.value,
        options.backend or configured_backend(graph),
    )


def configured_backend(graph: LogicalGraph) -> Backend | None:
    """The backend that the builder's own settings ask for, if they do."""
    if graph.config.is_given("dsl.store.suppliers.class"):
        return Backend(graph.config["dsl.store.suppliers.class"])
    return None


def optional_store(
    graph: LogicalGraph,
    given: Materialized[Any, Any] | None,
    key: SerdeLike,
    value: SerdeLike = None,
) -> Materialization | None:
    """For tables that have a store only if it is named. The serdes serve where none are given."""
    if given is None:
        return None
    return Materialization(
        given,
        given.store_name or "",
        given.store_name is not None,
        first(given.key, key),
        first(given.value, value),
        given.backend or configured_backend(graph),
    )
