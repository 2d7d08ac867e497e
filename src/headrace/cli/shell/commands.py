"""What the shell answers by itself: HELP, OUTPUT, SPOOL … They end with the line, without a
semicolon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from headrace.cli.shell.client import KsqlClient
from headrace.cli.shell.entities import table
from headrace.cli.shell.shell import Exit, Shell
from headrace.core.errors import ArgumentError

HELP = [
    ("CLEAR", "Clear the screen."),
    ("EXIT", "Leave. Ctrl-D as well."),
    ("HELP", "This."),
    ("HISTORY", "What was typed before."),
    ("OUTPUT [JSON | TABULAR]", "Show how answers are shown, or change it."),
    ("RUN SCRIPT 'file'", "Execute the statements of a file."),
    ("SERVER [url]", "Show which server is asked, or ask another."),
    ("SPOOL 'file' | OFF", "Write all that is shown to a file as well, or stop that."),
    ("VERSION", "Show the versions of this program and of the server."),
]
_STATEMENTS = (
    "Anything else is a statement of SQL, which ends with a semicolon: SELECT … EMIT CHANGES; "
    "CREATE STREAM …; LIST STREAMS; DESCRIBE …; SET '…' = '…';\n"
    "A query that goes on is ended by Ctrl-C."
)


class Commands:
    """The commands of a shell. `history` gives what was typed before, `connect` makes a client."""

    def __init__(
        self,
        shell: Shell,
        connect: Callable[[str], KsqlClient],
        history: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._shell = shell
        self._connect = connect
        self._history = history
        self._commands: dict[str, Callable[[str], None]] = {
            "CLEAR": self._clear,
            "EXIT": self._exit,
            "QUIT": self._exit,
            "HELP": self._help,
            "HISTORY": self._show_history,
            "OUTPUT": self._output,
            "RUN": self._run,
            "SERVER": self._server,
            "SPOOL": self._spool,
            "VERSION": self._version,
        }

    def knows(self, line: str) -> bool:
        """Whether a line is a command."""
        words = _words(line)
        if not words or words[0].upper() not in self._commands:
            return False
        return words[0].upper() != "RUN" or [word.upper() for word in words[:2]] == [
            "RUN",
            "SCRIPT",
        ]

    def run(self, line: str) -> None:
        """Do what a command says. Raises Exit if it is to leave, HeadraceError if it can't be
        done."""
        name, *rest = _words(line)
        self._commands[name.upper()](rest[0] if rest else "")

    def _clear(self, argument: str) -> None:
        self._shell.output.clear()

    def _exit(self, argument: str) -> None:
        raise Exit

    def _help(self, argument: str) -> None:
        self._shell.output.show(table(["Command", "What it does"], HELP))
        self._shell.output.line(_STATEMENTS)

    def _show_history(self, argument: str) -> None:
        for number, line in enumerate(self._history(), 1):
            self._shell.output.line(f"{number:>4}: {line}")

    def _output(self, argument: str) -> None:
        wanted = argument.upper()
        if wanted not in ("", "JSON", "TABULAR"):
            raise ArgumentError("OUTPUT is JSON or TABULAR.")
        if wanted:
            self._shell.as_json = wanted == "JSON"
        kind = "JSON" if self._shell.as_json else "TABULAR"
        self._shell.output.line(f"Answers are shown as {kind}.")

    def _run(self, argument: str) -> None:
        path = _unquoted(argument.split(None, 1)[1] if " " in argument else "")
        if not path:
            raise ArgumentError("Say which file: RUN SCRIPT 'file'")
        self._shell.run_script(Path(path).expanduser())

    def _server(self, argument: str) -> None:
        if argument:
            client = self._connect(_unquoted(argument))
            client.info()
            self._shell.client.close()
            self._shell.client = client
            self._shell.on_change()
        self._shell.output.line(self._shell.client.url)

    def _spool(self, argument: str) -> None:
        if not argument:
            raise ArgumentError("Say where: SPOOL 'file', or SPOOL OFF")
        if argument.upper() == "OFF":
            self._shell.output.spool_off()
            return
        path = Path(_unquoted(argument)).expanduser()
        self._shell.output.spool(path)
        self._shell.output.line(f"All that is shown goes to {path.absolute()} as well.")

    def _version(self, argument: str) -> None:
        server = self._shell.client.info()
        self._shell.output.line(f"headrace {version('headrace')}, server {server['version']}")


def _words(line: str) -> list[str]:
    """The command, and the rest of the line."""
    return line.strip().removesuffix(";").rstrip().split(None, 1)


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text
