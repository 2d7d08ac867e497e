"""`headrace server`, and `headrace sql` in a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from headrace.cli.main import app

_PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Of a server that is a process, and is stopped as with Ctrl-C."""
    command = [sys.executable, "-m", "headrace", "server", "start", "--in-memory"]
    server = subprocess.Popen(
        [*command, "--set", "listeners=http://127.0.0.1:0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    said = server.stderr.readline()
    found = re.search(r"http://[\d.:]+\d", said)
    assert found, said
    yield found[0]
    server.send_signal(signal.SIGINT)
    _, rest = server.communicate(timeout=_PATIENCE_S)
    assert server.returncode == 0, rest
    assert rest == "Stopping …\n"


def test_start(url: str) -> None:
    info = httpx.get(f"{url}/info").json()["KsqlServerInfo"]
    assert info["serverStatus"] == "RUNNING"
    assert httpx.get(f"{url}/healthcheck").json()["isHealthy"]


def test_where_is_kafka() -> None:
    failed = CliRunner().invoke(app, ["server", "start"])
    assert failed.exit_code == 1


def test_run_needs_a_file(tmp_path: Path) -> None:
    missing = CliRunner().invoke(app, ["server", "run", str(tmp_path / "queries.sql")])
    assert missing.exit_code == 1


class Terminal:
    """A program in a terminal."""

    def __init__(self, *command: str, state: Path) -> None:
        self._process, self._file = pty.fork()
        if self._process == 0:
            # What is started in the background by a script ignores Ctrl-C, and so would this.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            environment = {**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(state)}
            os.execvpe(command[0], command, environment)
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def wait_for(self, *texts: str) -> None:
        """Until all of these have been shown, from now on."""
        self.text = ""
        deadline = time.monotonic() + _PATIENCE_S
        while not all(text in self.text for text in texts):
            assert time.monotonic() < deadline, f"{texts} not in {self.text!r}"
            if select.select([self._file], [], [], 0.1)[0]:
                self.text += os.read(self._file, 65536).decode(errors="replace")

    def end(self) -> int:
        """The program's code, when it has ended."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            ended, status = os.waitpid(self._process, os.WNOHANG)
            if ended:
                os.close(self._file)
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < deadline, "it does not end"
            if select.select([self._file], [], [], 0.05)[0]:
                try:
                    os.read(self._file, 65536)
                except OSError:
                    time.sleep(0.05)


def test_sql_in_a_terminal(url: str, tmp_path: Path) -> None:
    terminal = Terminal(sys.executable, "-m", "headrace", "sql", url, state=tmp_path)
    terminal.wait_for("HELP shows commands", "sql>")
    terminal.type(
        "CREATE STREAM typed (id INT KEY, name STRING)\r"
        "WITH (kafka_topic='typed', value_format='JSON', partitions=1);\r"
    )
    terminal.wait_for("Stream created", "sql>")
    terminal.type("SET 'auto.offset.reset' = 'earliest';\r")
    terminal.wait_for("Successfully changed", "sql>")
    terminal.type("INSERT INTO typed VALUES (1, 'a row');\r")
    terminal.wait_for("sql>")
    terminal.type("SELECT * FROM typed EMIT CHANGES;\r")
    terminal.wait_for("| a row")
    terminal.type("\x03")
    terminal.wait_for("Query terminated", "sql>")
    assert httpx.post(f"{url}/ksql", json={"ksql": "LIST QUERIES;"}).json()[0]["queries"] == []
    terminal.type("SELEC * FROM typed;\r")
    terminal.wait_for("^^^^^", "sql>")
    terminal.type("EXIT\r")
    assert terminal.end() == 0
