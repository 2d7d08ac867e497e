"""A topology as plain data, as the console has it."""

from __future__ import annotations

from typing import Any

from headrace.engine.plan import full_name
from headrace.topology.topology import Topology


def full_description(topology: Topology, application_id: str) -> dict[str, Any]:
    """Its description, with the names that topics have in Kafka."""
    form = topology.describe().to_dict()
    for part in form["subtopologies"]:
        for node in part["nodes"]:
            if node["kind"] == "source":
                topics = node["topics"]
                node["topics"] = [full_name(topology, application_id, each) for each in topics]
            elif node["kind"] == "sink" and node["topic"] is not None:
                node["topic"] = full_name(topology, application_id, node["topic"])
    return form
