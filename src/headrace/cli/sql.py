"""`headrace sql`: ksqlDB's language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.terminal import count, say

sql = typer.Typer(help="ksqlDB's language.", no_args_is_help=True)


@sql.command("test")
def test(
    statements: Annotated[Path, typer.Argument(help="A file of SQL.", metavar="APP.SQL")],
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Records to read (not if INSERT VALUES makes them), and records to be written.",
            metavar="[INPUT.JSON] OUTPUT.JSON",
        ),
    ],
) -> None:
    """Run statements over records, and compare what they write: no Kafka, no Spark.

    INPUT.JSON is {"inputs": [...]}, OUTPUT.JSON {"outputs": [...]}, with records such as
    {"topic": "clicks", "timestamp": 0, "key": "anna", "value": {"PAGE": 1}}.
    """
    if len(files) > 2:
        raise typer.BadParameter("give the inputs, and the outputs: two files at most")
    from headrace.testing.sql.files import run_files

    inputs = files[0] if len(files) == 2 else None
    differences = run_files(statements, inputs, files[-1])
    for difference in differences:
        say(difference)
    if differences:
        say(f"failed: {count(len(differences), 'difference')}")
        raise typer.Exit(1)
    say("passed")
