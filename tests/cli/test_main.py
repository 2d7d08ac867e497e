from __future__ import annotations

import subprocess
import sys

import pytest
from rich.console import Console

from headrace.cli import terminal
from headrace.core.errors import BrokerError, ConfigError, ProcessingError
from headrace.engine.report import Failure
from tests.cli.conftest import Headrace

COMMANDS = (
    *("run", "topology", "demo", "broker", "topics"),
    *("produce", "consume", "config", "doctor", "reset"),
)


def test_help_names_every_command(headrace: Headrace) -> None:
    result = headrace("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert command in result.stdout
        assert headrace(command, "--help").exit_code == 0


def test_help_loads_neither_spark_nor_kafka() -> None:
    code = (
        "import sys, headrace.cli.main as m\n"
        "try: m.app(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*({'pyspark', 'confluent_kafka', 'pyarrow', 'lmdb'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_it_is_a_module_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("headrace ")


def test_an_unknown_command_is_an_error(headrace: Headrace) -> None:
    assert headrace("rum").exit_code == 2


def test_errors_are_a_message_and_not_a_traceback(headrace: Headrace) -> None:
    result = headrace("topology", "no_such_module:topology")
    assert result.exit_code == 1
    assert "headrace: Configuration: The topology is 'no_such_module:topology'" in result.stderr
    assert "Traceback" not in result.output


def test_debug_raises(headrace: Headrace) -> None:
    result = headrace("--debug", "topology", "no_such_module:topology")
    assert isinstance(result.exception, ConfigError)


def test_a_setting_must_have_a_value(headrace: Headrace) -> None:
    result = headrace("topology", "x:y", "--set", "application.id")
    assert result.exit_code == 2
    assert "not of the form" in result.stderr


def test_the_users_traceback_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    def users() -> None:
        raise ValueError("no price")

    try:
        users()
    except ValueError as cause:
        error = ProcessingError("KSTREAM-MAPVALUES-1 failed at orders-0@5, key 'a'")
        error.__cause__ = cause
    terminal.show_error(error)
    shown = capsys.readouterr().err
    assert "in users" in shown
    assert "ValueError: no price" in shown
    assert "headrace: Processing: KSTREAM-MAPVALUES-1 failed" in shown


def test_a_folder_of_the_packages_name_is_not_the_package(
    capsys: pytest.CaptureFixture[str],
) -> None:
    users = compile("raise ValueError('no price')", "/home/änne/headrace/my shop/app.py", "exec")
    try:
        exec(users)
    except ValueError as cause:
        error = ProcessingError("KSTREAM-MAPVALUES-1 failed at orders-0@5, key 'a'")
        error.__cause__ = cause
    terminal.show_error(error)
    assert 'File "/home/änne/headrace/my shop/app.py", line 1' in capsys.readouterr().err


def test_the_traceback_of_a_worker_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    remote = Failure("ProcessingError", "it failed", "Traceback …\nValueError: no price")
    terminal.show_error(remote.error())
    assert "ValueError: no price\nheadrace: Processing: it failed" in capsys.readouterr().err


def test_on_a_terminal_errors_are_in_a_box(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(stderr=True, force_terminal=True, width=60)
    monkeypatch.setattr(terminal, "err", console)
    terminal.show_error(BrokerError("[broker] didn't answer"))
    shown = capsys.readouterr().err
    assert "╭" in shown
    assert " Kafka " in shown
    assert "[broker] didn't answer" in shown


def test_counts() -> None:
    assert terminal.count(1, "record") == "1 record"
    assert terminal.count(2000, "record") == "2,000 records"
