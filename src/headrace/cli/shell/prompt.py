"""The prompt of the shell: several lines, history, completion."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from headrace.cli.shell.client import KsqlClient
from headrace.cli.shell.commands import Commands
from headrace.cli.shell.completion import Names, SqlCompleter
from headrace.cli.shell.shell import Exit, Shell
from headrace.cli.shell.text import is_complete
from headrace.core.errors import HeadraceError


def talk(shell: Shell, connect: Callable[[str], KsqlClient]) -> None:
    """Ask for statements and execute them, until the user leaves."""
    names = Names()
    shell.on_change = lambda: names.refresh(shell.client)
    shell.on_change()
    history = _history()
    commands = Commands(shell, connect, lambda: _typed(history))
    session: PromptSession[str] = PromptSession(
        history=history,
        completer=SqlCompleter(names),
        complete_while_typing=False,
        lexer=PygmentsLexer(SqlLexer),
        multiline=True,
        key_bindings=_keys(commands),
        prompt_continuation="    > ",
    )
    try:
        while _turn(shell, commands, session):
            pass
    finally:
        names.wait()


def _turn(shell: Shell, commands: Commands, session: PromptSession[str]) -> bool:
    """Ask once. Whether to go on."""
    try:
        respond(shell, commands, session.prompt("sql> "))
    except (EOFError, Exit):
        return False
    except KeyboardInterrupt:
        pass  # what was typed is forgotten, what was done is ended
    return True


def respond(shell: Shell, commands: Commands, text: str) -> bool:
    """Do what was typed. Whether all went well; raises Exit if that is to leave."""
    shell.output.note(f"sql> {text}")
    if not text.strip():
        return True
    if not commands.knows(text):
        return shell.run(text)
    try:
        commands.run(text)
    except HeadraceError as error:
        shell.show_error(error, text)
        return False
    return True


def _keys(commands: Commands) -> KeyBindings:
    """Enter ends what is typed if it is complete; else it begins a new line."""
    keys = KeyBindings()

    @Condition
    def complete() -> bool:
        text = get_app().current_buffer.text
        return commands.knows(text) or is_complete(text)

    @keys.add(Keys.Enter, filter=complete)
    def accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


def _history() -> History:
    """In a file of the user's, if it can be written."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    directory = Path(home) / "headrace"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = directory / "sql_history"
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


def _typed(history: History) -> Sequence[str]:
    return list(history.get_strings())
