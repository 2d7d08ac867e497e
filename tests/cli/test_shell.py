"""`headrace sql`: what is typed, and what is shown."""

from __future__ import annotations

import io
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.cli.shell.client import KsqlClient, ServerError
from headrace.cli.shell.commands import Commands
from headrace.cli.shell.completion import Names, SqlCompleter
from headrace.cli.shell.entities import shown, type_text
from headrace.cli.shell.output import Output
from headrace.cli.shell.prompt import respond, talk
from headrace.cli.shell.rows import RowTable, cell, columns_of
from headrace.cli.shell.shell import Exit, Shell
from headrace.cli.shell.text import excerpt, is_complete, pieces
from headrace.ksql.commands import InMemoryCommandLog
from headrace.ksql.http.access import Access
from headrace.ksql.http.server import HttpServer
from headrace.ksql.local import LocalRunner
from headrace.ksql.memory import InMemoryCluster
from headrace.ksql.server import Server

STREAM = (
    "CREATE STREAM clicks (user STRING KEY, page INT) "
    "WITH (kafka_topic='clicks', value_format='JSON', partitions=1);"
)
TABLE = "CREATE TABLE counts AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;"
ROWS = "INSERT INTO clicks VALUES ('anna', 1); INSERT INTO clicks VALUES ('otto', 2);"
EARLIEST = "SET 'auto.offset.reset' = 'earliest';"


@pytest.fixture
def service() -> Iterator[Server]:
    cluster = InMemoryCluster()
    server = Server({}, cluster=cluster, log=InMemoryCommandLog(), runner=LocalRunner(cluster))
    server.start()
    yield server
    server.close()


@pytest.fixture
def url(service: Server) -> Iterator[str]:
    http = HttpServer(service, port=0)
    yield http.address
    http.close()


@pytest.fixture
def screen() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def shell(url: str, screen: io.StringIO) -> Iterator[Shell]:
    client = KsqlClient(url)
    shell = Shell(client, Output(Console(file=screen, width=60, highlight=False)))
    yield shell
    shell.client.close()
    shell.output.spool_off()


@pytest.fixture
def commands(shell: Shell) -> Commands:
    return Commands(shell, KsqlClient, lambda: ["LIST STREAMS;"])


# Text


def test_statements_of_a_text() -> None:
    found = list(pieces("list streams; -- one;\n select ';' ;; print 'a;b' "))
    assert [piece.text for piece in found] == ["list streams;", "select ';' ;", "print 'a;b'"]
    assert [piece.is_query for piece in found] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True),
        ("SELECT 1;", True),
        ("SELECT 1; -- x", True),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT 1; SELECT", False),
        ("/* ;", False),
    ],
)
def test_where_a_text_ends(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_excerpt() -> None:
    statement = "SELECT *\nFRM clicks;"
    assert excerpt("line 2:1: Syntax Error", statement) == "  FRM clicks;\n  ^^^"
    assert excerpt("line 9:1: Syntax Error", statement) == ""
    assert excerpt("no such stream", statement) == ""


# Rows


def test_rows_fit_the_terminal() -> None:
    table = RowTable(["ID", "A LONGER NAME"], 25)
    lines = [*table.header(), *table.row([1, "0123456789"]), table.end()]
    assert lines == [
        "+-----------+-----------+",
        "| ID        | A LONGER  |",
        "|           | NAME      |",
        "+-----------+-----------+",
        "| 1         | 012345678 |",
        "|           | 9         |",
        "+-----------+-----------+",
    ]
    assert {len(line) for line in lines} == {25}


def test_cells() -> None:
    assert cell(None) == "null"
    assert cell(True) == "true"
    assert cell(Decimal("1.50")) == "1.50"
    assert cell({"A": [Decimal("1.50"), None]}) == '{"A":[1.50,null]}'
    assert cell("a\x1b[31m\n") == "a\\x1b[31m\\n"
    assert len(list(RowTable(["A"], 10).row(["x" * 1000]))) == 10


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ("`ID` BIGINT KEY, `NAME` STRING", ["ID", "NAME"]),
        ("`S` STRUCT<`A` INTEGER, `B` MAP<STRING, INTEGER>>, `D` DECIMAL(4, 2)", ["S", "D"]),
        ("`a``,b` STRING", ["a`,b"]),
        ("`H` BYTES HEADER('abc')", ["H"]),
        ("", []),
    ],
)
def test_columns_of_a_schema(schema: str, names: list[str]) -> None:
    assert columns_of(schema) == names


# Statements


def test_statements_and_queries(shell: Shell, screen: io.StringIO) -> None:
    assert shell.run(f"{EARLIEST} {STREAM} {TABLE} {ROWS}")
    assert "Stream created\nCreated query with ID CTAS_COUNTS_1\n" in screen.getvalue()
    screen.seek(0)
    screen.truncate()
    assert shell.run("SELECT * FROM clicks EMIT CHANGES LIMIT 2;")
    lines = screen.getvalue().splitlines()
    assert [line.split() for line in lines[1:2]] == [["|", "USER", "|", "PAGE", "|"]]
    assert [line.split()[1::2] for line in lines[3:5]] == [["anna", "1"], ["otto", "2"]]
    assert lines[-1] == "Limit Reached"
    assert max(map(len, lines)) <= 60


def test_variables(shell: Shell, screen: io.StringIO) -> None:
    shell.run(f"{EARLIEST} {STREAM} {ROWS} DEFINE who = 'anna';")
    assert shell.variables == {"who": "anna"}
    assert shell.run("SELECT page FROM clicks WHERE user = '${who}';")
    assert "| 1 " in screen.getvalue()
    assert "| 2 " not in screen.getvalue()
    assert shell.run("UNDEFINE who; UNDEFINE who;")
    assert "was never defined" in screen.getvalue()


def test_settings(shell: Shell, screen: io.StringIO) -> None:
    assert shell.run(EARLIEST)
    assert shell.properties == {"auto.offset.reset": "earliest"}
    assert not shell.run("SET 'ssl.keystore.location' = '/etc/passwd';")
    assert "ssl.keystore.location" in screen.getvalue()
    assert shell.run("UNSET 'auto.offset.reset';")
    assert shell.properties == {}
    assert not shell.run("UNSET 'auto.offset.reset';")


def test_errors_are_underlined(shell: Shell, screen: io.StringIO) -> None:
    assert not shell.run("LIST STREAMS;\nCREATE STREM x;")
    assert screen.getvalue().endswith("  CREATE STREM x;\n         ^^^^^\n")
    assert not shell.run("SELECT 'x;")
    assert screen.getvalue().endswith("  SELECT 'x;\n         ^\n")


def test_a_text_ends_at_its_first_error(shell: Shell, screen: io.StringIO) -> None:
    assert not shell.run(f"DROP STREAM nothing; {STREAM}")
    assert "NOTHING does not exist" in screen.getvalue()
    assert "Stream created" not in screen.getvalue()


def test_push_query_until_ctrl_c(
    shell: Shell, screen: io.StringIO, service: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run(f"{STREAM} {ROWS}")

    def interrupted(answer: Iterator[Any]) -> Iterator[str]:
        next(answer)
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(shell, "_lines", interrupted)
    assert shell.run("SELECT * FROM clicks EMIT CHANGES;")
    assert screen.getvalue().endswith("Query terminated\n")


def test_every_answer_is_shown(shell: Shell, screen: io.StringIO) -> None:
    shell.run(f"{EARLIEST} {STREAM} {ROWS} {TABLE} CREATE TYPE address AS STRUCT<street STRING>;")
    for statement, expected in {
        "LIST STREAMS;": "CLICKS",
        "LIST TABLES;": "COUNTS",
        "LIST QUERIES;": "CTAS_COUNTS_1",
        "LIST QUERIES EXTENDED;": "Sub-topology",
        "LIST TOPICS;": "clicks",
        "LIST TOPICS EXTENDED;": "Consumer",
        "LIST PROPERTIES;": "ksql.service.id",
        "LIST FUNCTIONS;": "UCASE",
        "LIST TYPES;": "STRUCT<STREET STRING>",
        "LIST VARIABLES;": "(none)",
        "DESCRIBE counts;": "STRING (primary key)",
        "DESCRIBE clicks EXTENDED;": "Consumer group",
        "DESCRIBE STREAMS;": "CLICKS",
        "DESCRIBE FUNCTION ucase;": "UCASE(",
        "EXPLAIN CTAS_COUNTS_1;": "Sub-topology",
        "ASSERT TOPIC `clicks`;": "clicks exists",
        "CREATE STREAM IF NOT EXISTS clicks (a INT) WITH (kafka_topic='clicks', "
        "value_format='JSON');": "Cannot add stream",
        "PRINT clicks FROM BEGINNING LIMIT 1;": "key: anna",
    }.items():
        screen.seek(0)
        screen.truncate()
        assert shell.run(statement), screen.getvalue()
        assert expected in screen.getvalue(), statement


def test_answers_that_nobody_knows_are_json() -> None:
    (text,) = shown({"@type": "new", "x": 1, "warnings": []})
    assert '"x": 1' in str(text)


def test_types_in_sql() -> None:
    integer = {"type": "INTEGER"}
    assert type_text({"type": "MAP", "memberSchema": integer}) == "MAP<STRING, INTEGER>"
    decimal = {"type": "DECIMAL", "parameters": {"precision": 4, "scale": 2}}
    assert type_text({"type": "ARRAY", "memberSchema": decimal}) == "ARRAY<DECIMAL(4, 2)>"


# Commands


def test_output_as_json(shell: Shell, commands: Commands, screen: io.StringIO) -> None:
    shell.run(f"{EARLIEST} {STREAM} {ROWS}")
    commands.run("OUTPUT JSON")
    shell.run("LIST STREAMS; SELECT * FROM clicks;")
    assert '"@type": "streams"' in screen.getvalue()
    assert '{"row":{"columns":["anna",1]}}' in screen.getvalue()
    commands.run("output tabular")
    assert not shell.as_json
    assert not respond(shell, commands, "OUTPUT x")


def test_spool(shell: Shell, commands: Commands, tmp_path: Path) -> None:
    path = tmp_path / "a file"
    commands.run(f"SPOOL '{path}'")
    assert respond(shell, commands, STREAM)
    commands.run("SPOOL OFF;")
    respond(shell, commands, "LIST STREAMS;")
    written = path.read_text()
    assert f"sql> {STREAM}\nStream created\n" in written
    assert "LIST STREAMS" not in written
    assert not respond(shell, commands, "SPOOL")
    assert not respond(shell, commands, f"SPOOL {tmp_path}")


def test_scripts(shell: Shell, commands: Commands, screen: io.StringIO, tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.sql", tmp_path / "outer.sql"
    inner.write_text(STREAM)
    outer.write_text(f"{EARLIEST}\nRUN SCRIPT '{inner}';\nLIST STREAMS;")
    assert respond(shell, commands, f"RUN SCRIPT '{outer}'")
    assert "CLICKS" in screen.getvalue()
    assert not respond(shell, commands, "RUN SCRIPT")
    assert not respond(shell, commands, f"RUN SCRIPT '{tmp_path}/nothing'")
    inner.write_text(f"RUN SCRIPT '{inner}';")
    assert not respond(shell, commands, f"RUN SCRIPT '{inner}';")
    assert "run each other" in screen.getvalue()


def test_other_commands(shell: Shell, commands: Commands, screen: io.StringIO, url: str) -> None:
    for line in ("HELP", "help;", "VERSION", "HISTORY", "SERVER", f"SERVER {url}", "CLEAR", ""):
        assert respond(shell, commands, line), line
    for expected in ("SPOOL", "server 0", "   1: LIST STREAMS;", url):
        assert expected in screen.getvalue()
    assert not respond(shell, commands, "SERVER http://127.0.0.1:1")
    assert shell.client.url == url
    for line in ("EXIT", "quit;"):
        with pytest.raises(Exit):
            respond(shell, commands, line)
    assert not commands.knows("RUN x;")


# The prompt


def _completions(completer: SqlCompleter, text: str) -> list[str]:
    return [each.text for each in completer.get_completions(Document(text), CompleteEvent())]


def test_completion(shell: Shell) -> None:
    shell.run(f"{STREAM} {TABLE}")
    names = Names()
    names.load(shell.client)
    completer = SqlCompleter(names)
    assert _completions(completer, "SEL") == ["SELECT"]
    assert "counts" in _completions(completer, "select * from cou")
    assert "CLICKS" in _completions(completer, "DESCRIBE CL")
    assert "PAGE" in _completions(completer, "SELECT PA")
    assert _completions(completer, "TERMINATE CTAS_") == ["CTAS_COUNTS_1"]
    assert "SPOOL" in _completions(completer, "SP")
    assert "SPOOL" not in _completions(completer, "SELECT SP")
    assert _completions(completer, "SELECT ") == []


def test_names_of_a_server_that_is_gone() -> None:
    names = Names()
    names.load(KsqlClient("http://127.0.0.1:1"))
    assert names.words == {}


@pytest.mark.parametrize("typed", ["EXIT\r", "\x04"])
def test_talk(
    shell: Shell,
    screen: io.StringIO,
    typed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text(f"{STREAM.replace(' WITH', chr(13) + 'WITH')}\rLIST STREAMS;\r{typed}")
        talk(shell, KsqlClient)
    assert "Stream created" in screen.getvalue()
    assert "CLICKS" in screen.getvalue()
    assert "LIST STREAMS;" in (tmp_path / "headrace" / "sql_history").read_text()


# The command


def test_command(url: str, tmp_path: Path) -> None:
    runner = CliRunner()
    script = tmp_path / "a.sql"
    script.write_text(STREAM)
    done = runner.invoke(app, ["sql", url, "-f", str(script), "-e", "LIST STREAMS;"])
    assert done.exit_code == 0, done.output
    assert "CLICKS" in done.output
    piped = runner.invoke(app, ["sql", url, "--json"], input="LIST STREAMS;")
    assert '"name": "CLICKS"' in piped.output
    failed = runner.invoke(app, ["sql", url, "-e", "DROP STREAM nothing;"])
    assert failed.exit_code == 1
    unreachable = runner.invoke(app, ["sql", "127.0.0.1:1", "-e", "LIST STREAMS;"])
    assert unreachable.exit_code == 1


def test_users_and_tokens(service: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    http = HttpServer(service, port=0, access=Access({"anna": "geheim"}, "abc"))
    try:
        runner = CliRunner()
        asked = ["sql", http.address, "-e", "LIST STREAMS;"]
        assert runner.invoke(app, asked).exit_code == 1
        assert runner.invoke(app, [*asked, "--token", "abc"]).exit_code == 0
        assert runner.invoke(app, [*asked, "--user", "anna"], input="geheim\n").exit_code == 0
        monkeypatch.setenv("HEADRACE_SQL_PASSWORD", "falsch")
        assert runner.invoke(app, [*asked, "--user", "anna"]).exit_code == 1
        client = KsqlClient(http.address)
        with pytest.raises(ServerError, match="Unauthorized"):
            client.info()
        client.close()
    finally:
        http.close()
