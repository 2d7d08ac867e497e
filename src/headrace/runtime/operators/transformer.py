"""The transformers of `KTable.transform_values`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.errors import require
from headrace.runtime.operator import OperatorNode
from headrace.runtime.processor import NodeContext


def start_transformer(supplier: Callable[[], Any], node: OperatorNode) -> Any:
    """A transformer of the supplier's, which begins and ends with the node. It can't forward."""
    transformer = supplier()
    require(transformer, f"The transformer of {node.name}, which its supplier makes,")
    context = NodeContext(node)
    node.on_init.append(lambda: transformer.init(context))
    node.on_close.append(transformer.close)
    return transformer
