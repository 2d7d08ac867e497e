"""The shell: what is typed, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headrace.cli.shell.client import KsqlClient, ServerError
from headrace.cli.shell.entities import shown
from headrace.cli.shell.output import Output
from headrace.cli.shell.rows import RowTable, columns_of, to_json
from headrace.cli.shell.text import Piece, excerpt, pieces
from headrace.core.errors import HeadraceError
from headrace.sql.errors import ParseError
from headrace.sql.syntax import ast
from headrace.sql.syntax.parser import parse

_DEPTH = 20


class Exit(Exception):
    """The user wants to leave."""


class Shell:
    """A session with a server: settings and variables that hold for all statements, and how answers
    are shown."""

    def __init__(self, client: KsqlClient, output: Output | None = None) -> None:
        self.client = client
        self.output = output or Output()
        self.properties: dict[str, Any] = {}
        self.variables: dict[str, str] = {}
        self.as_json = False
        self.on_change: Callable[[], None] = lambda: None
        """Called when there may be new names."""
        self._scripts = 0

    def run(self, text: str) -> bool:
        """Execute all statements of a text, until one fails. Whether all went well."""
        try:
            for piece in pieces(text):
                self._execute(piece)
        except HeadraceError as error:
            self.show_error(error, text)
            return False
        return True

    def run_script(self, path: Path) -> None:
        """Execute a file. Raises HeadraceError if it can't be read, or a statement fails."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ServerError(f"{path} can't be read: {error}") from error
        if self._scripts >= _DEPTH:
            raise ServerError(f"{path} is run by scripts that run each other.")
        self._scripts += 1
        try:
            for piece in pieces(text):
                self._execute(piece)
        finally:
            self._scripts -= 1

    def show_error(self, error: HeadraceError, text: str) -> None:
        statement = text
        message = str(error)
        if isinstance(error, ServerError):
            for entity in error.entities:
                self._show(entity)
            statement = error.statement or text
        elif isinstance(error, ParseError):
            message, statement = error.message, text
        self.output.line(message, "red")
        place = excerpt(message, statement)
        if place:
            self.output.line(place, "red")

    def _execute(self, piece: Piece) -> None:
        if piece.is_query:
            self._query(piece.text)
        elif piece.words[0] in ("SET", "UNSET", "DEFINE", "UNDEFINE"):
            self._set(piece)
        elif piece.words[:2] == ("RUN", "SCRIPT"):
            self.run_script(Path(_argument(piece)))
        else:
            for entity in self.client.execute(piece.text, self.properties, self.variables):
                self._show(entity)
            self.on_change()

    def _set(self, piece: Piece) -> None:
        """What holds for the session is kept here, and goes with every request."""
        for parsed in parse(piece.text, self.variables):
            match parsed.statement:
                case ast.SetProperty(name=name, value=value):
                    self.client.check_property(name)
                    self.properties[name] = value
                    self.output.line(
                        f"Successfully changed local property '{name}' to '{value}'. Use the UNSET "
                        "command to revert your change."
                    )
                case ast.UnsetProperty(name=name):
                    if self.properties.pop(name, None) is None:
                        raise ServerError(f"Cannot unset local property '{name}': it isn't set.")
                    self.output.line(f"Successfully unset local property '{name}'.")
                case ast.DefineVariable(name=name, value=value):
                    self.variables[name] = value
                case ast.UndefineVariable(name=name):
                    if self.variables.pop(name, None) is None:
                        self.output.line(
                            f"Cannot undefine variable '{name}' which was never defined", "yellow"
                        )

    # Answers

    def _show(self, entity: dict[str, Any]) -> None:
        if self.as_json:
            self.output.line(to_json(entity, indent=True))
            return
        for part in shown(entity):
            self.output.show(part)

    def _query(self, sql: str) -> None:
        with self.client.query(sql, self.properties, self.variables) as answer:
            try:
                for line in self._lines(answer):
                    self.output.line(line)
            except KeyboardInterrupt:
                self.output.line("Query terminated")

    def _lines(self, answer: Iterator[Any]) -> Iterator[str]:
        rows: RowTable | None = None
        last = ""
        for part in answer:
            if isinstance(part, str):
                yield part
            elif "errorMessage" in part:
                raise ServerError(str(part["errorMessage"]["message"]))
            elif self.as_json:
                yield to_json(part)
            elif "header" in part:
                rows = RowTable(columns_of(part["header"]["schema"]), self.output.width)
                yield from rows.header()
            elif "row" in part and rows is not None:
                if not part["row"].get("tombstone"):
                    yield from rows.row(part["row"]["columns"])
                else:
                    yield from rows.row([*part["row"]["columns"][:-1], "<TOMBSTONE>"])
            elif "finalMessage" in part:
                last = str(part["finalMessage"])
        if rows is not None:
            yield rows.end()
        if last:
            yield last


def _argument(piece: Piece) -> str:
    """The string after RUN SCRIPT."""
    parts = piece.text.removesuffix(";").split(None, 2)
    if len(parts) < 3:
        raise ServerError("Say which file: RUN SCRIPT 'file';")
    return parts[2].strip().strip("'")
