"""The topics of a description's nodes, as they are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def read_by(node: Mapping[str, Any]) -> list[str]:
    """Topics, or the pattern of their names."""
    if node["kind"] != "source":
        return []
    topics: list[str] = node["topics"]
    return topics if node["pattern"] is None else [f"/{node['pattern']}/"]


def written_by(node: Mapping[str, Any]) -> list[str]:
    """A topic, or who chooses it."""
    if node["kind"] != "sink":
        return []
    return [f"by {node['extractor']}" if node["topic"] is None else node["topic"]]
