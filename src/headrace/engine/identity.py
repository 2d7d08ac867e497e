"""What a state directory is the state of."""

from __future__ import annotations

from dataclasses import fields

from headrace.engine.plan import Plan, TaskPlan
from headrace.topology.nodes import ProcessorNode
from headrace.topology.stores import StoreSpec


def identity(plan: Plan, task: TaskPlan) -> str:
    """Names what a state directory holds: another application's, task's or kind of store's
    entries can't be used."""
    nodes = (plan.topology.nodes[name] for name in task.nodes)
    names = {store for node in nodes if isinstance(node, ProcessorNode) for store in node.stores}
    shapes = sorted(_shape(plan.topology.stores[name]) for name in names)
    return "\n".join([f"{plan.config.application_id} {task.id}", *shapes])


_NO_SHAPE = {"key_serde", "value_serde", "right_value_serde", "logging", "log_config", "caching"}


def _shape(spec: StoreSpec) -> str:
    facts = [f"{f.name}={getattr(spec, f.name)}" for f in fields(spec) if f.name not in _NO_SHAPE]
    return f"{type(spec).__name__} {' '.join(facts)}"
