"""Where answers go: the terminal, and a file if one is spooled to."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from rich.console import Console, RenderableType
from rich.text import Text

from headrace.cli.terminal import out
from headrace.core.errors import HeadraceError

_FILE_WIDTH = 120


class SpoolError(HeadraceError):
    """A file can't be written."""


class Output:
    """Prints to a console, and to a file while one is open."""

    def __init__(self, console: Console = out) -> None:
        self._console = console
        self._file: TextIO | None = None
        self._copy: Console | None = None

    @property
    def width(self) -> int:
        return self._console.width

    def show(self, part: RenderableType) -> None:
        self._console.print(part, soft_wrap=isinstance(part, Text))
        if self._copy is not None:
            self._copy.print(part, soft_wrap=isinstance(part, Text))

    def line(self, text: str, style: str = "") -> None:
        """A line as it is."""
        self.show(Text(text, style=style))

    def note(self, text: str) -> None:
        """A line that is typed, for the file alone."""
        if self._copy is not None:
            self._copy.print(Text(text), soft_wrap=True)

    def clear(self) -> None:
        self._console.clear()

    def spool(self, path: Path) -> None:
        """Write to a file as well, from now on. Raises SpoolError if that can't be done."""
        self.spool_off()
        try:
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise SpoolError(f"{path} can't be written: {error}") from error
        self._copy = Console(file=self._file, width=_FILE_WIDTH, highlight=False)

    def spool_off(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._copy = None
