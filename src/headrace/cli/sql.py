"""`headrace sql`: ksqlDB's language."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from headrace.cli.terminal import count, say
from headrace.core.errors import ConfigError

if TYPE_CHECKING:
    from headrace.cli.shell.client import KsqlClient

_PASSWORD = "HEADRACE_SQL_PASSWORD"  # noqa: S105, the name of a variable


class ShellUnlessNamed(TyperGroup):
    """`headrace sql http://…` is `headrace sql shell http://…`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["shell", *args]
        return super().parse_args(ctx, args)


sql = typer.Typer(cls=ShellUnlessNamed, help="ksqlDB's language.")


@sql.command()
def shell(
    url: Annotated[
        str, typer.Argument(help="Where the server is.", metavar="[URL]")
    ] = "http://localhost:8088",
    execute: Annotated[
        list[str] | None,
        typer.Option("--execute", "-e", metavar="SQL", help="Statements. May be repeated."),
    ] = None,
    file: Annotated[
        list[Path] | None, typer.Option("--file", "-f", help="A file of them. May be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Show answers as JSON.")] = False,
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", help=f"Its password is asked for, or ${_PASSWORD}."),
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", envvar="HEADRACE_SQL_TOKEN", help="A bearer token.")
    ] = None,
) -> None:
    """Ask a ksqlDB server: statement by statement, or those of -f, -e or standard input.

    Ends with code 1 if one of these fails.
    """
    from headrace.cli.shell.client import KsqlClient
    from headrace.cli.shell.shell import Shell

    password = _password(user)

    def connect(url: str) -> KsqlClient:
        return KsqlClient(url, user=None if user is None else (user, password), token=token)

    session = Shell(connect(url))
    session.as_json = json
    try:
        session.client.info()
        texts = [*map(_text, file or []), *(execute or [])]
        if not texts and sys.stdin.isatty():
            from headrace.cli.shell.prompt import talk

            session.output.line(f"{session.client.url}. HELP shows commands, Ctrl-D leaves.")
            talk(session, connect)
            return
        for text in texts or [sys.stdin.read()]:
            if not session.run(text):
                raise typer.Exit(1)
    finally:
        session.output.spool_off()
        session.client.close()


def _password(user: str | None) -> str:
    if user is None:
        return ""
    return os.environ.get(_PASSWORD) or str(typer.prompt("Password", hide_input=True, err=True))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}") from error


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
