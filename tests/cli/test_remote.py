"""The commands that ask a running application, against a made-up one."""

from __future__ import annotations

import io
import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console

from headrace.cli.remote_view import curve, duration, headline, tasks
from headrace.cli.top import Moment
from headrace.server import answers
from tests.cli.conftest import Headrace
from tests.console.application import NINE, FakeApplication
from tests.tools import OPENSSL

MINUTES = 60_000


@pytest.fixture
def application() -> Iterator[FakeApplication]:
    application = FakeApplication()
    yield application
    application.close()


@pytest.fixture
def at(application: FakeApplication) -> tuple[str, str]:
    return "--server", application.url


def clock(timestamp: int) -> str:
    return datetime.fromtimestamp(timestamp / 1000).isoformat()


def test_a_key(headrace: Headrace, at: tuple[str, str]) -> None:
    result = headrace("query", "points", "ann", *at)
    assert result.exit_code == 0, result.output
    assert result.stdout == "214\n"
    found = json.loads(headrace("query", "points", "ann", "--json", *at).stdout)
    assert found == {"key": "ann", "value": 214, "timestamp": NINE, "valid_to": None}


def test_text_is_shown_as_it_is_and_the_rest_as_json(
    headrace: Headrace, application: FakeApplication, at: tuple[str, str]
) -> None:
    application.values = {"a/b c?": 'say "ä"', "d": {"list": [1, None]}}
    assert headrace("query", "points", "a/b c?", *at).stdout == 'say "ä"\n'
    assert headrace("query", "points", "d", *at).stdout == '{"list": [1, null]}\n'


def test_no_such_key(headrace: Headrace, at: tuple[str, str]) -> None:
    result = headrace("query", "points", "eve", *at)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "headrace: Application: Store points has no key 'eve'." in result.stderr


def test_no_such_store(headrace: Headrace, at: tuple[str, str]) -> None:
    result = headrace("query", "pints", "eve", *at)
    assert result.exit_code == 1
    assert "There is no store pints. Ask /v1/stores." in result.stderr


def test_all_entries_come_in_pages(
    headrace: Headrace, application: FakeApplication, at: tuple[str, str]
) -> None:
    application.values = {f"{number:04}": number for number in range(2_500)}
    result = headrace("query", "points", "--limit", 5_000, *at)
    assert result.stdout.splitlines() == [f"{number:04}\t{number}" for number in range(2_500)]
    assert result.stderr == ""
    assert len([path for path in application.requests if "/entries" in path]) == 3
    result = headrace("query", "points", "--limit", 2, *at)
    assert result.stdout == "0000\t0\n0001\t1\n"
    assert "There are more than 2" in result.stderr
    assert headrace("query", "points", "--limit", 2_500, *at).stderr == ""


def test_nothing_found(
    headrace: Headrace, application: FakeApplication, at: tuple[str, str]
) -> None:
    application.values = {}
    result = headrace("query", "points", *at)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Nothing found." in result.stderr


def test_windows_of_a_key(
    headrace: Headrace, application: FakeApplication, at: tuple[str, str]
) -> None:
    lines = headrace("query", "per-department", "tea", "--from", clock(NINE), *at).stdout
    span = f"{clock(NINE)} - {clock(NINE + 5 * MINUTES)}"
    assert lines.splitlines()[0] == f"tea\t{span}\t17"
    assert len(lines.splitlines()) == 3
    assert f"key=tea&from={NINE}&order=asc" in application.requests[-1]
    headrace("query", "per-department", "tea", "--window", NINE, "--descending", *at)
    assert f"from={NINE}&to={NINE}&order=desc" in application.requests[-1]


def test_versions(headrace: Headrace, application: FakeApplication, at: tuple[str, str]) -> None:
    headrace("query", "prices", "ann", "--as-of", 5, "--encoding", "json", *at)
    assert application.requests[-1] == "/v1/stores/prices/value?key=ann&as_of=5&encoding=json"
    lines = headrace("query", "prices", "ann", "--to", NINE + 5, *at).stdout.splitlines()
    assert [line.split("\t")[-1] for line in lines] == ["1", "2"]
    assert ":00.002 - now" in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("points", "ann", "--window", "9"), "--window means nothing for store points"),
        (("points", "ann", "--prefix", "9"), "--prefix means nothing for store points"),
        (("points", "ann", "--from", "9"), "--from means nothing for store points"),
        (("points", "ann", "--as-of", "9"), "--as-of means nothing for store points"),
        (("prices",), "Which key of prices? A versioned store can't be listed."),
        (("per-department", "--window", "noon"), "--window is 'noon', which is no time. TIME is"),
    ],
)
def test_questions_that_make_no_sense(
    headrace: Headrace, at: tuple[str, str], arguments: tuple[str, ...], message: str
) -> None:
    result = headrace("query", *arguments, *at)
    assert result.exit_code == 1
    assert message in result.stderr


def test_the_address_comes_from_the_environment_too(
    headrace: Headrace, application: FakeApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HEADRACE_APPLICATION_SERVER", f"127.0.0.1:{application.port}")
    assert headrace("query", "points", "bob").stdout == "88\n"


def test_without_an_address(headrace: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_APPLICATION_SERVER", raising=False)
    result = headrace("status")
    assert result.exit_code == 1
    assert "Which application? Give its address: --server http://" in result.stderr
    assert "must be like http://" in headrace("status", "--server", "ftp://x").stderr


def test_nobody_answers(headrace: Headrace) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    result = headrace("status", "--server", f"127.0.0.1:{port}")
    assert result.exit_code == 1
    assert f"No application answers at http://127.0.0.1:{port} (Connection refused)." in (
        result.stderr
    )
    assert "Traceback" not in result.output


def test_a_token(
    headrace: Headrace,
    application: FakeApplication,
    at: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    application.token = "very-secret-indeed"
    result = headrace("status", *at)
    assert result.exit_code == 1
    assert "Set HEADRACE_SERVER_TOKEN to the application's server.token." in result.stderr
    monkeypatch.setenv("HEADRACE_SERVER_TOKEN", application.token)
    result = headrace("status", *at)
    assert result.exit_code == 0
    assert application.token not in result.output
    assert not any(application.token in path for path in application.requests)


def test_tls(headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = [
        OPENSSL.program(),
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        *names,
    ]
    subprocess.run(
        [*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    application = FakeApplication(tls=tls)
    try:
        server = f"https://localhost:{application.port}"
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        result = headrace("query", "points", "bob", "--server", server)
        assert result.exit_code == 1
        assert f"The certificate of {server} can't be trusted: self" in result.stderr
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert headrace("query", "points", "bob", "--server", server).stdout == "88\n"
    finally:
        application.close()


def test_status(headrace: Headrace, at: tuple[str, str]) -> None:
    result = headrace("status", *at)
    assert result.exit_code == 0, result.output
    first, titles, *rows = result.stdout.splitlines()
    assert first.startswith(" RUNNING  store-purchases   48,")
    assert "310/s   lag 4   batch " in first
    assert titles.split()[:5] == ["task", "slot", "records", "rate", "lag"]
    assert [row.split()[0] for row in rows] == ["0_0", "0_1", "1_0", "1_1", "2_0", "2_1"]
    assert "127.0.0.1:4711" in rows[0]
    assert "purchases 0" in rows[0]
    found = json.loads(headrace("status", "--json", *at).stdout)
    assert found["application_id"] == "store-purchases"
    assert found["tasks"][0]["inputs"][0]["topic"] == "purchases"


def test_status_of_an_application_that_failed(
    headrace: Headrace, application: FakeApplication, at: tuple[str, str]
) -> None:
    application.state = "ERROR"
    application.last_error = "Task 0_1 can't read [record] 17."
    application.restoring = [answers.Restoration("points", "c", 1, 10, 1_010, 510)]
    result = headrace("status", *at)
    assert result.exit_code == 1
    assert "Task 0_1 can't read [record] 17." in result.stdout
    assert "500 of 1,000" in result.stdout


def test_status_says_what_an_application_waits_for(
    headrace: Headrace, application: FakeApplication, at: tuple[str, str]
) -> None:
    application.reason = "Trying again: [broker] is away."
    assert "Trying again: [broker] is away." in headrace("status", *at).stdout
    assert "Trying again: [broker] is away." in headrace("top", "--times", 1, *at).stdout


def test_top(headrace: Headrace, at: tuple[str, str]) -> None:
    result = headrace("top", "--times", 2, "--every", 0.2, *at)
    assert result.exit_code == 0, result.output
    assert "RUNNING" in result.stdout
    assert "0_1" in result.stdout
    assert "310/s" in result.stdout


def shown(moment: Moment, width: int = 100, height: int = 30) -> str:
    console = Console(file=io.StringIO(), width=width)
    with console.capture() as capture:
        console.print(moment.view(width, height))
    return capture.get()


def test_top_goes_on_when_the_application_is_gone(application: FakeApplication) -> None:
    moment = Moment("http://127.0.0.1:1")
    state = vars_of(application._state())
    rows = [vars_of(task) for task in application._tasks()]
    moment.take(state, rows)
    assert "NO ANSWER" not in shown(moment)
    moment.lose("No application answers.")
    text = shown(moment)
    assert "NO ANSWER, trying again. No application answers." in text
    assert "0_1" in text
    moment.take(state, rows)
    assert "NO ANSWER" not in shown(moment)


def vars_of(answer: object) -> dict[str, object]:
    return asdict(answer)  # type: ignore[call-overload,no-any-return]


def test_many_tasks_fit_the_terminal(application: FakeApplication) -> None:
    one = vars_of(application._tasks()[0])
    many = [
        {**one, "id": f"0_{number}", "partition": number, "lag": number} for number in range(80)
    ]
    moment = Moment("http://127.0.0.1:1")
    moment.take(vars_of(application._state()), many)
    lines = shown(moment, 80, 24).splitlines()
    assert len(lines) <= 24
    assert "and 71 more" in "\n".join(lines)
    assert "0_79" in "\n".join(lines)
    assert tasks(many, 80).row_count == 80


def test_a_paused_application(application: FakeApplication) -> None:
    application.paused = True
    assert headline(vars_of(application._state())).plain.startswith(" PAUSED ")


def test_curves_and_durations() -> None:
    assert curve([0, 4, None, 8], 6) == "   ▄ █"
    assert curve([0, 0], 2) == "  "
    assert curve([], 3) == "   "
    assert [duration(seconds) for seconds in (5, 65, 3_700, 90_000)] == [
        "5 s",
        "1 min 5 s",
        "1 h 1 min",
        "1 d 1 h",
    ]
