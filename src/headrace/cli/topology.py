"""`headrace topology`: what a topology consists of, as text, data or a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import ConfigFile, Settings, configuration
from headrace.cli.target import Target, topology_of
from headrace.cli.terminal import note, say
from headrace.topology.description import TopologyDescription


class Format(StrEnum):
    """How to show it."""

    TEXT = "text"
    JSON = "json"
    MERMAID = "mermaid"
    SVG = "svg"


def topology(
    target: Target,
    form: Annotated[
        Format,
        typer.Option("--format", "-f", help="text is Kafka Streams' own, to the character."),
    ] = Format.TEXT,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file instead of standard output.")
    ] = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Show a topology: its sub-topologies with their nodes, stores and topics."""
    description = topology_of(target, configuration(config, settings, None)).describe()
    text = _text(description, form)
    if output is None:
        say(text.rstrip("\n"))
    else:
        output.write_text(text, "utf-8")
        note(f"written to {output}")


def _text(description: TopologyDescription, form: Format) -> str:
    match form:
        case Format.JSON:
            return description.to_json() + "\n"
        case Format.MERMAID:
            return description.to_mermaid()
        case Format.SVG:
            from headrace.cli.svg import drawing

            return drawing(description.to_dict())
        case Format.TEXT:
            return str(description)
