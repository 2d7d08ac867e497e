"""A topology as a tree, from its sources to its sinks."""

from __future__ import annotations

import re
from typing import Any

from rich.text import Text
from rich.tree import Tree

from headrace.topology.topology import Topology


def trees(topology: Topology) -> list[Tree]:
    """One for each sub-topology."""
    return [_tree(part) for part in topology.describe().to_dict()["subtopologies"]]


def _tree(part: dict[str, Any]) -> Tree:
    nodes = {node["name"]: node for node in part["nodes"]}
    root = Tree(Text(f"sub-topology {part['id']}", "bold"))

    def grow(branch: Tree, name: str) -> None:
        below = branch.add(_label(nodes[name]))
        for parent, child in part["edges"]:
            if parent == name:
                grow(below, child)

    for name, node in nodes.items():
        if node["kind"] == "source":
            grow(root, name)
    return root


def _label(node: dict[str, Any]) -> Text:
    match node["kind"]:
        case "source":
            return Text.assemble("read ", (", ".join(node["topics"]), "green"))
        case "sink":
            return Text.assemble("write ", (node["topic"], "cyan"))
    text = Text(_short(node["name"]))
    for name in node["stores"]:
        text.append(" with store ").append(name, "magenta")
    return text


def _short(name: str) -> str:
    """KSTREAM-KEY-SELECT-0000000004, a generated name, in short: key-select."""
    generated = re.fullmatch(r"(?:KSTREAM|KTABLE)-(.+)-\d+", name)
    return generated[1].lower() if generated else name
