"""The join of two streams in a window of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.core.errors import StreamsError
from headrace.dsl.checks import check_join_windows, check_stream
from headrace.dsl.handle import first
from headrace.dsl.materialized import configured_backend
from headrace.dsl.with_key import WithKey, unwrap
from headrace.serde.serde import SerdeLike
from headrace.topology.logical_graph import LogicalGraph
from headrace.topology.logical_joins import JoinSideParts, JoinWindowing, StreamJoin
from headrace.topology.operators import (
    JoinSide,
    StreamStreamJoin,
)
from headrace.topology.stores import Backend, OuterJoinStoreSpec, StoreSpec, WindowStoreSpec
from headrace.topology.views import JoinKind
from headrace.topology.windows import JoinWindows

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream


@dataclass(frozen=True)
class StreamJoinOptions:
    """The keyword arguments of a stream-stream join."""

    key: SerdeLike
    value: SerdeLike
    other_value: SerdeLike
    name: str | None
    store_name: str | None
    this_store: WindowStoreSpec | None
    other_store: WindowStoreSpec | None
    backend: Backend | None
    logging: bool
    log_config: Mapping[str, str]


def join_streams(
    left: KStream[Any, Any],
    right: KStream[Any, Any],
    joiner: Callable[..., Any] | WithKey[..., Any],
    windows: JoinWindows,
    kind: JoinKind,
    options: StreamJoinOptions,
) -> KStream[Any, Any]:
    check_stream(left, right)
    check_join_windows(windows)
    function, takes_key = unwrap(joiner, "The joiner", "this", "other")
    left = left._repartitioned_for_join(
        f"{options.name}-left" if options.name else None, options.key, options.value
    )
    right = right._repartitioned_for_join(
        f"{options.name}-right" if options.name else None, options.key, options.other_value
    )
    options = replace(
        options,
        key=first(options.key, left._key_serde),
        value=first(options.value, left._value_serde),
        other_value=first(options.other_value, right._value_serde),
    )
    graph = left._graph
    sources = graph.copartition(left._sources, right._sources)
    names = _Names(graph, kind, options)
    stores = _stores(graph, windows, kind, options, names)
    _note_unnamed(graph, options, stores)
    outer = stores.outer if windows.emits_unmatched_late else None

    def side(side: JoinSide) -> JoinSideParts:
        is_left = side is JoinSide.LEFT
        operator = StreamStreamJoin(
            names.left,
            side,
            windows,
            (stores.right if is_left else stores.left).name,
            outer.name if outer else None,
            function,
            takes_key,
            kind is JoinKind.OUTER or (kind is JoinKind.LEFT and is_left),
        )
        windowing = JoinWindowing(
            names.left_windowed if is_left else names.right_windowed,
            stores.left if is_left else stores.right,
        )
        graph.add(windowing, (left if is_left else right)._node)
        return JoinSideParts(names.left if is_left else names.right, windowing, operator)

    node = StreamJoin(
        names.merge,
        side(JoinSide.LEFT),
        side(JoinSide.RIGHT),
        outer,
        relaxes_null_keys=kind is not JoinKind.INNER,
    )
    graph.add(node, left._node, right._node)
    return left._next(
        node, key_serde=options.key, value_serde=None, sources=sources, needs_repartition=False
    )


class _Names:
    """The names of the join's processors, in the order in which they are generated.

    `left_store` and `right_store` are what stores without a name are called after.
    """

    def __init__(self, graph: LogicalGraph, kind: JoinKind, options: StreamJoinOptions) -> None:
        naming, name = graph.naming, options.name
        outer, left_or_outer = kind is JoinKind.OUTER, kind is not JoinKind.INNER
        self.left_suffix = "-outer-this-join" if outer else "-this-join"
        self.right_suffix = "-outer-other-join" if left_or_outer else "-other-join"
        self.left_windowed = naming.suffixed(name, "-this-windowed", "KSTREAM-WINDOWED-")
        self.right_windowed = naming.suffixed(name, "-other-windowed", "KSTREAM-WINDOWED-")
        self.left_store = naming.generate("KSTREAM-OUTERTHIS-" if outer else "KSTREAM-JOINTHIS-")
        self.right_store = naming.generate(
            "KSTREAM-OUTEROTHER-" if left_or_outer else "KSTREAM-JOINOTHER-"
        )
        self.left = name + self.left_suffix if name else self.left_store
        self.right = name + self.right_suffix if name else self.right_store
        self.merge = naming.suffixed(name, "-merge", "KSTREAM-MERGE-")


@dataclass(frozen=True)
class _Stores:
    left: StoreSpec
    right: StoreSpec
    outer: StoreSpec | None


def _stores(
    graph: LogicalGraph,
    windows: JoinWindows,
    kind: JoinKind,
    options: StreamJoinOptions,
    names: _Names,
) -> _Stores:
    this, other, base = options.this_store, options.other_store, options.store_name
    if this and other and this.name == other.name:
        raise StreamsError(
            f"Both stores of the join are called {this.name!r}. Give them different names."
        )
    backend = options.backend or configured_backend(graph)

    def store(
        given: WindowStoreSpec | None, generated: str, suffix: str, value: SerdeLike
    ) -> StoreSpec:
        if given is not None:
            _check_store(given, windows)
            return replace(given, key_serde=options.key, value_serde=value, headers=None)
        return WindowStoreSpec(
            name=f"{base + suffix if base else generated}-store",
            key_serde=options.key,
            value_serde=value,
            backend=backend,
            logging=options.logging,
            log_config={**options.log_config, "cleanup.policy": "delete"},
            retention_ms=windows.retention_ms,
            window_ms=windows.size_ms,
            retain_duplicates=True,
            headers=None,
        )

    left = store(this, names.left_store, names.left_suffix, options.value)
    right = store(other, names.right_store, names.right_suffix, options.other_value)
    if kind is JoinKind.INNER:
        return _Stores(left, right, None)
    outer = OuterJoinStoreSpec(
        name=_outer_name(kind, options, names) + "-store",
        key_serde=options.key,
        value_serde=options.value,
        right_value_serde=options.other_value,
        backend=this.backend if this and options.backend is None else backend,
        logging=options.logging,
        log_config=options.log_config,
        retention_ms=windows.retention_ms,
    )
    return _Stores(left, right, outer)


def _outer_name(kind: JoinKind, options: StreamJoinOptions, names: _Names) -> str:
    suffix = "-outer-shared-join" if kind is JoinKind.OUTER else "-left-shared-join"
    if options.this_store is not None:
        return options.this_store.name + suffix
    if options.store_name is not None:
        return options.store_name + suffix
    number = names.left_store.rpartition("-")[2]
    return f"KSTREAM-OUTERSHARED-{number}"


def _check_store(store: WindowStoreSpec, windows: JoinWindows) -> None:
    if not store.retain_duplicates:
        raise StreamsError(f"Store {store.name!r} of a join must have retain_duplicates=True")
    if (store.retention_ms, store.window_ms) != (windows.retention_ms, windows.size_ms):
        raise StreamsError(
            f"Store {store.name!r} must fit the windows of the join: it has a window size of "
            f"{store.window_ms} ms and a retention of {store.retention_ms} ms, but they need "
            f"{windows.size_ms} ms and {windows.retention_ms} ms."
        )


def _note_unnamed(graph: LogicalGraph, options: StreamJoinOptions, stores: _Stores) -> None:
    if options.store_name is None:
        for store in (stores.left, stores.right, stores.outer):
            if store is not None:
                graph.naming.note_unnamed_store(store.name, logged=store.logging)
