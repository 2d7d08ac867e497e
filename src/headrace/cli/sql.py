"""`headrace sql`: ksqlDB's language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.terminal import count, say

sql = typer.Typer(help="ksqlDB's language.", no_args_is_help=True)


@sql.command("test")
def run_tests(
    statements: Annotated[Path, typer.Argument(help="A file of SQL.", metavar="APP.SQL")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Records to read (not if INSERT VALUES makes them), and records to be written. "
            "Without them, ASSERT VALUES among the statements says what is to be written.",
            metavar="[INPUT.JSON] OUTPUT.JSON",
        ),
    ] = None,
) -> None:
    """Run statements over records, and compare what they write: no Kafka, no Spark.

    INPUT.JSON is {"inputs": [...]}, OUTPUT.JSON {"outputs": [...]}, with records such as
    {"topic": "clicks", "timestamp": 0, "key": "anna", "value": {"PAGE": 1}}.
    """
    if not files:
        _run_script(statements)
        return
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


def _run_script(path: Path) -> None:
    from headrace.testing.sql.files import text_of
    from headrace.testing.sql.script import run_test, script_tests

    failed = 0
    tests = script_tests(text_of(path))
    for each in tests:
        failure = run_test(each)
        failed += failure is not None
        say(f"{'passed' if failure is None else 'FAILED'} {each.name or path.name}")
        if failure is not None:
            say(f"  {failure}")
    say(f"{len(tests) - failed} passed, {failed} failed")
    if failed:
        raise typer.Exit(1)
