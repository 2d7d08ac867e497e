"""Builds the topology of a case through the public API (parts 4 and 5 of the README)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from headrace import EmitStrategy, StreamsBuilder, Topology, with_key

from . import combiners, functions, options, processors
from .extractors import TopicNameExtractor, timestamp_extractor
from .functions import mapper, predicate
from .options import Spec, materialized, ms, named, serde_options, window
from .serdes import serde

Observe = Callable[[Spec], None]
"""Told what the functions of a topology see, and the branches of a `split`."""

_BUILD_SETTINGS = ("topology.optimization",)
"""What `build` looks at. The rest is checked when the topology starts, unless the builder is made
with a TopologyConfig."""


def build(case: Spec, config: Mapping[str, Any], observe: Observe) -> Topology:
    if case.get("api") == "papi":
        return _build_processors(case["topology"], config if case.get("topology_config") else None)
    with_config = bool(case.get("topology_config"))
    builder = DslBuilder(StreamsBuilder(config if with_config else None), observe)
    for operation in case["topology"]:
        builder.apply(operation)
    build_config = {key: config[key] for key in _BUILD_SETTINGS if key in config}
    return builder.builder.build(config if with_config else build_config)


class DslBuilder:
    """Applies operations one after another; results are kept by their id."""

    def __init__(self, builder: StreamsBuilder, observe: Observe) -> None:
        self.builder = builder
        self._observe = observe
        self._results: dict[str, Any] = {}

    def apply(self, operation: Spec) -> None:
        method = getattr(self, f"_{operation['op']}")
        if "in" not in operation:
            result = method(operation)
        else:
            result = method(self._results[operation["in"]], operation)
        if "id" in operation:
            self._results[operation["id"]] = result

    def _other(self, op: Spec) -> Any:
        return None if op["other"] is None else self._results[op["other"]]

    # Sources

    def _stream(self, op: Spec) -> Any:
        return self.builder.stream(_topics(op), **_source_options(op), **options.offset_reset(op))

    def _table(self, op: Spec) -> Any:
        return self.builder.table(op["topic"], *_materialized(op), **_source_options(op))

    def _global_table(self, op: Spec) -> Any:
        return self.builder.global_table(op["topic"], *_materialized(op), **_source_options(op))

    def _add_state_store(self, op: Spec) -> Any:
        return self.builder.add_state_store(options.store(op["store"]))

    def _add_global_store(self, op: Spec) -> Any:
        return self.builder.add_global_store(
            options.store(op["store"]),
            op["topic"],
            processors.processor(op["processor"]),
            **_source_options(op),
        )

    # Streams, and what tables have in common with them

    def _filter(self, on: Any, op: Spec) -> Any:
        return on.filter(predicate(op["fn"]), *_materialized(op), **named(op))

    def _filter_not(self, on: Any, op: Spec) -> Any:
        return on.filter_not(predicate(op["fn"]), *_materialized(op), **named(op))

    def _map_values(self, on: Any, op: Spec) -> Any:
        function = _value_function(mapper(op["fn"]), op)
        return on.map_values(function, *_materialized(op), **named(op))

    def _map(self, on: Any, op: Spec) -> Any:
        return on.map(_pair_function(op), **named(op))

    def _select_key(self, on: Any, op: Spec) -> Any:
        return on.select_key(mapper(op["fn"]), **named(op))

    def _flat_map_values(self, on: Any, op: Spec) -> Any:
        function = _value_function(functions.list_function(op["list"]), op)
        return on.flat_map_values(function, **named(op))

    def _flat_map(self, on: Any, op: Spec) -> Any:
        listed = functions.list_function(op["list"])
        pair = _pair_function(op)

        def function(key: Any, value: Any) -> Any:
            elements = listed(key, value)
            return None if elements is None else [pair(key, element) for element in elements]

        return on.flat_map(function, **named(op))

    def _peek(self, on: Any, op: Spec) -> Any:
        return on.peek(self._observer(op), **named(op))

    def _foreach(self, on: Any, op: Spec) -> Any:
        return on.foreach(self._observer(op), **named(op))

    def _observer(self, op: Spec) -> Callable[[Any, Any], None]:
        return lambda key, value: self._observe({"op": op["id"], "key": key, "value": value})

    def _split(self, on: Any, op: Spec) -> None:
        branched = on.split(**named(op))
        branches = list(op["branches"])
        for branch in branches:
            branched = branched.branch(predicate(branch["fn"]), **_branch_options(branch))
        if "default" in op:
            branches.append(op["default"])
            result = branched.default_branch(**_branch_options(op["default"]))
        else:
            result = branched.no_default_branch()
        self._observe({"op": op["id"], "branch_keys": sorted(result)})
        kept = [branch["id"] for branch in branches if "consumer_to" not in branch]
        self._results.update(zip(kept, result.values(), strict=True))

    def _merge(self, on: Any, op: Spec) -> Any:
        return on.merge(self._other(op), **named(op))

    def _repartition(self, on: Any, op: Spec) -> Any:
        partitions = {"partitions": op["partitions"]} if "partitions" in op else {}
        return on.repartition(**serde_options(op), **partitions, **named(op))

    def _to(self, on: Any, op: Spec) -> Any:
        return on.to(_target(op), **serde_options(op), **named(op))

    def _to_table(self, on: Any, op: Spec) -> Any:
        return on.to_table(*_materialized(op), **named(op))

    def _group_by_key(self, on: Any, op: Spec) -> Any:
        return on.group_by_key(**serde_options(op), **named(op))

    def _group_by(self, on: Any, op: Spec) -> Any:
        selector = _pair_function(op) if _is_table(on) else mapper(op["fn"])
        return on.group_by(selector, **serde_options(op), **named(op))

    def _process(self, on: Any, op: Spec) -> Any:
        return on.process(processors.processor(op["processor"]), *_stores(op), **named(op))

    def _process_values(self, on: Any, op: Spec) -> Any:
        supplier = processors.fixed_key_processor(op["processor"])
        return on.process_values(supplier, *_stores(op), **named(op))

    # Joins

    def _join(self, on: Any, op: Spec) -> Any:
        return self._joined(on.join, on, op)

    def _left_join(self, on: Any, op: Spec) -> Any:
        return self._joined(on.left_join, on, op)

    def _outer_join(self, on: Any, op: Spec) -> Any:
        return self._joined(on.outer_join, on, op)

    def _joined(self, method: Callable[..., Any], on: Any, op: Spec) -> Any:
        other, joiner = self._other(op), _joiner(op)
        if _is_table(on):
            return method(other, joiner, *_materialized(op), **named(op))
        if "window" in op:
            return method(other, joiner, window(op["window"]), **_stream_join_options(op))
        if "key_fn" in op:
            return method(other, joiner, key_selector=mapper(op["key_fn"]), **named(op))
        grace = {"grace": ms(op["grace"])} if "grace" in op else {}
        return method(other, joiner, **serde_options(op, other=True), **grace, **named(op))

    def _fk_join(self, on: Any, op: Spec) -> Any:
        return self._foreign_key_joined(on.join, op)

    def _fk_left_join(self, on: Any, op: Spec) -> Any:
        return self._foreign_key_joined(on.left_join, op)

    def _foreign_key_joined(self, method: Callable[..., Any], op: Spec) -> Any:
        foreign_key = _value_function(mapper(op["fk"]), op)
        joiner = _joiner({"joiner": op["joiner"]})
        return method(
            self._other(op), joiner, *_materialized(op), foreign_key=foreign_key, **named(op)
        )

    # Tables

    def _transform_values(self, on: Any, op: Spec) -> Any:
        return on.transform_values(
            processors.transformer(op["transformer"]),
            *op.get("stores", ()),
            materialized=materialized(op),
            **named(op),
        )

    def _to_stream(self, on: Any, op: Spec) -> Any:
        return on.to_stream(*([mapper(op["fn"])] if "fn" in op else []), **named(op))

    def _suppress(self, on: Any, op: Spec) -> Any:
        return on.suppress(options.suppressed(op))

    # Aggregations

    def _windowed_by(self, on: Any, op: Spec) -> Any:
        windowed = on.windowed_by(window(op["window"]))
        return windowed.emit_strategy(EmitStrategy(op["emit"])) if "emit" in op else windowed

    def _cogroup(self, on: Any, op: Spec) -> Any:
        aggregator = combiners.aggregator(op["agg"])
        if "other" in op:
            return on.cogroup(self._other(op), aggregator)
        return on.cogroup(aggregator)

    def _count(self, on: Any, op: Spec) -> Any:
        return on.count(*_materialized(op), **named(op))

    def _reduce(self, on: Any, op: Spec) -> Any:
        reducers = [
            combiners.reducer(op[role]) for role in ("reducer", "adder", "subtractor") if role in op
        ]
        return on.reduce(*reducers, *_materialized(op), **named(op))

    def _aggregate(self, on: Any, op: Spec) -> Any:
        arguments: list[Any] = [functions.initializer(op["init"])]
        for role in ("agg", "adder", "subtractor"):
            if role in op:
                arguments.append(combiners.aggregator(op[role]))
        if "merger" in op:
            arguments.append(combiners.merger(op["merger"]))
        return on.aggregate(*arguments, *_materialized(op), **named(op))


def _is_table(on: Any) -> bool:
    return hasattr(on, "to_stream")


def _topics(op: Spec) -> Any:
    if "pattern" in op:
        return re.compile(op["pattern"])
    return op["topics"] if "topics" in op else op["topic"]


def _source_options(op: Spec) -> Spec:
    extractor = (
        {"timestamp_extractor": timestamp_extractor(op["extractor"])} if "extractor" in op else {}
    )
    return {**serde_options(op), **extractor, **named(op)}


def _target(op: Spec) -> Any:
    return TopicNameExtractor(op["extractor"]) if "extractor" in op else op["topic"]


def _materialized(op: Spec) -> list[Any]:
    """As an argument list: empty where the overload without Materialized is meant."""
    return [materialized(op)] if "materialized" in op else []


def _value_function(function: Any, op: Spec) -> Any:
    """A function of (key, value) for a method that passes the value alone, or also the key."""
    return with_key(function) if op.get("with_key") else lambda value: function(None, value)


def _pair_function(op: Spec) -> Callable[[Any, Any], Any]:
    if op.get("null_pair"):
        return lambda key, value: None
    to_key, to_value = mapper(op["key"]), mapper(op["value"])
    assert to_key is not None
    assert to_value is not None
    return lambda key, value: (to_key(key, value), to_value(key, value))


def _joiner(op: Spec) -> Any:
    function = combiners.joiner(op["joiner"])
    if op.get("with_key"):
        return with_key(function)
    return lambda left, right: function(None, left, right)


def _branch_options(branch: Spec) -> Spec:
    given: Spec = {"name": branch["name"]} if "name" in branch else {}
    if "function" in branch:
        function = _value_function(mapper(branch["function"]), {})
        given["function"] = lambda stream: stream.map_values(function)
    if "consumer_to" in branch:
        topic, text = branch["consumer_to"], serde("string")
        given["consumer"] = lambda stream: stream.to(topic, key=text, value=text)
    return given


def _stream_join_options(op: Spec) -> Spec:
    given: Spec = {**serde_options(op, other=True), **named(op)}
    if "store_name" in op:
        given["store_name"] = op["store_name"]
    if "store_type" in op:
        given["backend"] = options.BACKENDS[op["store_type"]]
    for role in ("this", "other"):
        if f"{role}_supplier" in op:
            given[f"{role}_store"] = options.store(op[f"{role}_supplier"])
    return given


def _stores(op: Spec) -> list[Any]:
    return [*op.get("stores", ()), *map(options.store, op.get("own_stores", ()))]


# The Processor API


def _build_processors(operations: list[Spec], config: Mapping[str, Any] | None) -> Topology:
    topology = Topology(config)
    for operation in operations:
        _PROCESSOR_API[operation["op"]](topology, operation)
    return topology


def _add_source(topology: Topology, op: Spec) -> None:
    given = {**_source_options(op), **options.offset_reset(op)}
    if "pattern" in op:
        topology.add_source(op["name"], pattern=re.compile(op["pattern"]), **given)
    else:
        topology.add_source(op["name"], *op.get("topics", [op.get("topic")]), **given)


def _add_processor(topology: Topology, op: Spec) -> None:
    stores = [options.store(store) for store in op.get("own_stores", ())]
    supplier = processors.processor(op["processor"])
    topology.add_processor(op["name"], supplier, *op.get("parents", ()), stores=stores)


def _add_sink(topology: Topology, op: Spec) -> None:
    topology.add_sink(op["name"], _target(op), *op.get("parents", ()), **serde_options(op))


def _add_state_store(topology: Topology, op: Spec) -> None:
    topology.add_state_store(options.store(op["store"]), *op.get("processors", ()))


def _connect(topology: Topology, op: Spec) -> None:
    topology.connect_processor_and_state_stores(op["name"], *op["stores"])


def _add_filled_store(add: Callable[..., Any], op: Spec) -> None:
    add(
        options.store(op["store"]),
        op["source_name"],
        op["topic"],
        op["name"],
        processors.processor(op["processor"]),
        **_source_options(op),
    )


_PROCESSOR_API: dict[str, Callable[[Topology, Spec], None]] = {
    "add_source": _add_source,
    "add_processor": _add_processor,
    "add_sink": _add_sink,
    "add_state_store": _add_state_store,
    "connect": _connect,
    "add_global_store": lambda topology, op: _add_filled_store(topology.add_global_store, op),
    "add_read_only_state_store": lambda topology, op: _add_filled_store(
        topology.add_read_only_state_store, op
    ),
}
