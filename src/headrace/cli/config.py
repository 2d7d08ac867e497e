"""`headrace config`: which settings there are, and whether a file of them is right."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.table import Table
from rich.text import Text

from headrace.cli.config_page import Row, markdown, rows
from headrace.cli.options import as_client
from headrace.cli.terminal import note, out, say
from headrace.core.config import StreamsConfig


class Format(StrEnum):
    """How to show it."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"


def config(
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Only settings with this.")] = "",
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Check this file, and show what it sets.")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="markdown is the page of the documentation.")
    ] = Format.TABLE,
) -> None:
    """Show all settings with their defaults and what they mean, or check a file of settings."""
    if file is not None:
        _check(file)
        return
    if form is Format.MARKDOWN:
        say(markdown().rstrip("\n"))
        return
    found = [row for row in rows() if text.lower() in f"{row.key} {row.doc}".lower()]
    if form is Format.JSON:
        say(orjson.dumps([row._asdict() for row in found], option=orjson.OPT_INDENT_2).decode())
    elif out.is_terminal:
        out.print(_table(found))
    else:
        for row in found:
            say(f"{row.key} = {row.default}".rstrip(" ="))
            say(f"    {row.doc}")
    if not found:
        note(f"There is no setting with {text!r} in its name or description.")


def _table(found: list[Row]) -> Table:
    table = Table("setting", "default", "", box=None, header_style="dim", padding=(0, 2, 0, 0))
    for row in found:
        name = Text(row.key, style="bold" if row.importance == "high" else "", overflow="fold")
        table.add_row(name, Text(row.default, style="cyan"), Text(row.doc))
    return table


def _check(file: Path) -> None:
    """Raises ConfigError, with the place in the file, for what is wrong."""
    from headrace.kafka.settings import ClientSettings

    loaded = StreamsConfig.load(file=file, environ={})
    if loaded.is_given("bootstrap.servers"):
        ClientSettings(as_client(loaded))
    shown = loaded.shown()
    for key in loaded.given():
        say(f"{key} = {shown[key]}")
    note(f"{file}: {len(loaded.given())} settings, nothing wrong with them")
