"""The joins of a stream: with another stream, a table, or a global table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from headrace.core.arguments import shown
from headrace.core.errors import ArgumentError, require
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.handle import Handle
from headrace.dsl.ktable import KTable
from headrace.dsl.stream_stream_join import StreamJoinOptions, join_streams
from headrace.dsl.table_lookups import join_global_table, join_table
from headrace.dsl.with_key import WithKey
from headrace.serde.serde import Serde
from headrace.topology.stores import Backend, WindowStoreSpec
from headrace.topology.views import JoinKind
from headrace.topology.windows import JoinWindows

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
V2 = TypeVar("V2")
VR = TypeVar("VR")
KG = TypeVar("KG")


class StreamJoins(Handle[K, V]):
    """The join methods of KStream.

    With a **stream**: records of the same key join if they are not further apart than the windows
    say. Each side keeps its records in a store for that long. A record that comes later than the
    grace period is dropped. `store_name` names the stores; `this_store` and `other_store` are
    specs to use in place of the usual ones, which must fit the windows and retain duplicates
    (else StreamsError is raised); `backend`, `logging` and `log_config` are those of the usual
    ones.

    With a **table**: each record looks the row of its key up, as it is at that moment. Updates of
    the table emit nothing. With `grace`, records wait until stream time has passed them by that
    much, and find the row as it was at their own time; the table must be versioned and have
    enough history (else ArgumentError is raised).

    With a **global table**: `key_selector(key, value)` says which row to look up. There is no
    repartition, and the key stays.

    Streams and tables that are joined by key must be partitioned alike. A stream whose key was
    changed goes through a repartition topic first, called like the join. Records without a value
    never join. The joiner is called `joiner(this, other)`, or with the key first if it is wrapped
    in `with_key`. The result has the key serde of the join or the stream, and no value serde.
    """

    @overload
    def join(
        self,
        other: KStream[K, V2],
        joiner: Callable[[V, V2], VR] | WithKey[[K, V, V2], VR],
        windows: JoinWindows,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        other_value: Serde[V2] | None = None,
        name: str | None = None,
        store_name: str | None = None,
        this_store: WindowStoreSpec | None = None,
        other_store: WindowStoreSpec | None = None,
        backend: Backend | None = None,
        logging: bool = True,
        log_config: Mapping[str, str] | None = None,
    ) -> KStream[K, VR]: ...
    @overload
    def join(
        self,
        other: KTable[K, V2],
        joiner: Callable[[V, V2], VR] | WithKey[[K, V, V2], VR],
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        other_value: Serde[V2] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> KStream[K, VR]: ...
    @overload
    def join(
        self,
        other: GlobalKTable[KG, V2],
        joiner: Callable[[V, V2], VR] | WithKey[[K, V, V2], VR],
        *,
        key_selector: Callable[[K, V], KG],
        name: str | None = None,
    ) -> KStream[K, VR]: ...
    def join(self, other: Any, joiner: Any, windows: Any = None, **options: Any) -> KStream[K, Any]:
        """Records that have a partner: others, and records without a key, give no result."""
        return self._join(JoinKind.INNER, other, joiner, windows, options)

    @overload
    def left_join(
        self,
        other: KStream[K, V2],
        joiner: Callable[[V, V2 | None], VR] | WithKey[[K, V, V2 | None], VR],
        windows: JoinWindows,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        other_value: Serde[V2] | None = None,
        name: str | None = None,
        store_name: str | None = None,
        this_store: WindowStoreSpec | None = None,
        other_store: WindowStoreSpec | None = None,
        backend: Backend | None = None,
        logging: bool = True,
        log_config: Mapping[str, str] | None = None,
    ) -> KStream[K, VR]: ...
    @overload
    def left_join(
        self,
        other: KTable[K, V2],
        joiner: Callable[[V, V2 | None], VR] | WithKey[[K, V, V2 | None], VR],
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        other_value: Serde[V2] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> KStream[K, VR]: ...
    @overload
    def left_join(
        self,
        other: GlobalKTable[KG, V2],
        joiner: Callable[[V, V2 | None], VR] | WithKey[[K, V, V2 | None], VR],
        *,
        key_selector: Callable[[K, V], KG | None],
        name: str | None = None,
    ) -> KStream[K, VR]: ...
    def left_join(
        self, other: Any, joiner: Any, windows: Any = None, **options: Any
    ) -> KStream[K, Any]:
        """All records of this stream, with None for a partner that isn't there. Between streams
        that is known only when the window is closed. A record without a key has no partner."""
        return self._join(JoinKind.LEFT, other, joiner, windows, options)

    def outer_join(
        self,
        other: KStream[K, V2],
        joiner: Callable[[V | None, V2 | None], VR] | WithKey[[K, V | None, V2 | None], VR],
        windows: JoinWindows,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        other_value: Serde[V2] | None = None,
        name: str | None = None,
        store_name: str | None = None,
        this_store: WindowStoreSpec | None = None,
        other_store: WindowStoreSpec | None = None,
        backend: Backend | None = None,
        logging: bool = True,
        log_config: Mapping[str, str] | None = None,
    ) -> KStream[K, VR]:
        """All records of both streams, with None for a partner that isn't there, which is known
        only when the window is closed. A record without a key has no partner."""
        options = StreamJoinOptions(
            key=key,
            value=value,
            other_value=other_value,
            name=name,
            store_name=store_name,
            this_store=this_store,
            other_store=other_store,
            backend=backend,
            logging=logging,
            log_config=log_config or {},
        )
        return join_streams(self._stream, other, joiner, windows, JoinKind.OUTER, options)

    def _join(
        self, kind: JoinKind, other: Any, joiner: Any, windows: Any, options: dict[str, Any]
    ) -> KStream[K, Any]:
        require(other, "What to join with")
        if windows is not None and isinstance(other, GlobalKTable | KTable):
            raise ArgumentError(
                "A join with a table takes no windows: each record finds the row as it is now."
            )
        if isinstance(other, GlobalKTable):
            return _join_with_global_table(self._stream, other, joiner, kind, **options)
        if isinstance(other, KTable):
            return _join_with_table(self._stream, other, joiner, kind, **options)
        if not isinstance(other, StreamJoins):
            raise ArgumentError(
                f"A stream can't be joined with {shown(other)}, only with a KStream, a KTable or a "
                "GlobalKTable."
            )
        return _join_with_stream(self._stream, other._stream, joiner, windows, kind, **options)

    @property
    def _stream(self) -> KStream[K, V]:
        return cast("KStream[K, V]", self)


def _join_with_stream(
    stream: KStream[Any, Any],
    other: KStream[Any, Any],
    joiner: Any,
    windows: JoinWindows,
    kind: JoinKind,
    *,
    key: Serde[Any] | None = None,
    value: Serde[Any] | None = None,
    other_value: Serde[Any] | None = None,
    name: str | None = None,
    store_name: str | None = None,
    this_store: WindowStoreSpec | None = None,
    other_store: WindowStoreSpec | None = None,
    backend: Backend | None = None,
    logging: bool = True,
    log_config: Mapping[str, str] | None = None,
) -> KStream[Any, Any]:
    options = StreamJoinOptions(
        key=key,
        value=value,
        other_value=other_value,
        name=name,
        store_name=store_name,
        this_store=this_store,
        other_store=other_store,
        backend=backend,
        logging=logging,
        log_config=log_config or {},
    )
    return join_streams(stream, other, joiner, windows, kind, options)


def _join_with_table(
    stream: KStream[Any, Any],
    table: KTable[Any, Any],
    joiner: Any,
    kind: JoinKind,
    *,
    key: Serde[Any] | None = None,
    value: Serde[Any] | None = None,
    other_value: Serde[Any] | None = None,
    name: str | None = None,
    grace: timedelta | None = None,
) -> KStream[Any, Any]:
    # `other_value` has no use: the table knows its serde. It is taken so that all joins are alike.
    return join_table(stream, table, joiner, kind, key=key, value=value, name=name, grace=grace)


def _join_with_global_table(
    stream: KStream[Any, Any],
    table: GlobalKTable[Any, Any],
    joiner: Any,
    kind: JoinKind,
    *,
    key_selector: Callable[[Any, Any], Any] | None = None,
    name: str | None = None,
) -> KStream[Any, Any]:
    return join_global_table(stream, table, joiner, kind, key_selector=key_selector, name=name)
