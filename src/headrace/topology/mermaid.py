"""A topology's description as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.topology.node_topics import read_by, written_by


def flowchart(description: Mapping[str, Any]) -> str:
    """A flowchart of a description's plain data.

    Sub-topologies are boxes, topics lie between them, stores are cylinders. A topic that is
    written and read again is drawn once, and so shows how sub-topologies are connected.
    """
    return "\n".join(["flowchart TD", *_lines(description["subtopologies"])]) + "\n"


def _lines(subtopologies: list[Mapping[str, Any]]) -> Iterator[str]:
    ids = _Ids()
    for part in subtopologies:
        title = f"Sub-topology {part['id']}" + (" (global store)" if part["global"] else "")
        yield f"  subgraph {ids('part', str(part['id']))}[{_quoted(title)}]"
        for node in part["nodes"]:
            yield f"    {ids('node', node['name'])}[{_quoted(node['name'])}]"
        for store in part["stores"]:
            yield f"    {ids('store', store)}[({_quoted(store)})]"
        for start, end in part["edges"]:
            yield f"    {ids('node', start)} --> {ids('node', end)}"
        yield "  end"
    for part in subtopologies:
        for node in part["nodes"]:
            yield from _node_lines(node, ids)


def _node_lines(node: Mapping[str, Any], ids: _Ids) -> Iterator[str]:
    """The edges to what is not inside the sub-topology, and to the stores."""
    name = ids("node", node["name"])
    for store in node.get("stores", ()):
        yield f"  {name} -.- {ids('store', store)}"
    for topic in (*read_by(node), *written_by(node)):
        known = ("topic", topic) in ids
        topic_id = ids("topic", topic)
        if not known:
            yield f"  {topic_id}>{_quoted(topic)}]"
        yield f"  {name} --> {topic_id}" if node["kind"] == "sink" else f"  {topic_id} --> {name}"


class _Ids:
    """Short ids, such as `topic3`: names may hold characters that Mermaid gives a meaning."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], str] = {}

    def __call__(self, kind: str, name: str) -> str:
        return self._ids.setdefault((kind, name), f"{kind}{len(self._ids)}")

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._ids


def _quoted(text: str) -> str:
    """Text in quotes, where only these have a meaning to Mermaid."""
    escaped = text.replace("&", "#amp;").replace('"', "#quot;")
    return f'"{escaped.replace("<", "#lt;").replace(">", "#gt;")}"'
