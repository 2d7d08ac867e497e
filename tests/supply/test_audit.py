"""The audit says what is vulnerable, and what could not be asked about."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from headrace.kafka.jar_manifest import Jar
from supply.audit import NOT_ASKED, VULNERABLE, Findings, java_findings, python_findings

GOOD = Jar("0" * 64, "org.example:good:1.0", "good-1.0.jar")
BAD = Jar("1" * 64, "org.example:bad:1.0", "bad-1.0.jar")
NAMELESS = Jar("2" * 64, "unknown", "nameless.jar")


class Osv(BaseHTTPRequestHandler):
    """Knows something of `bad`."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results: list[dict[str, Any]] = [
            {"vulns": [{"id": "X-2"}, {"id": "X-1"}]} if "/bad@" in each["package"]["purl"] else {}
            for each in asked["queries"]
        ]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"results": results}).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def osv() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Osv)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_java_libraries(osv: str) -> None:
    found = java_findings([GOOD, BAD], osv)
    assert found == Findings(vulnerable=["org.example:bad:1.0: X-1, X-2"])
    assert found.exit_code == VULNERABLE
    assert java_findings([GOOD], osv).exit_code == 0


def test_a_jar_that_is_not_known_was_not_asked_about(osv: str) -> None:
    found = java_findings([GOOD, NAMELESS], osv)
    assert found.not_asked == ["jars that don't say what they are: nameless.jar"]
    assert found.exit_code == NOT_ASKED


def test_without_a_network_nothing_is_called_safe(capsys: pytest.CaptureFixture[str]) -> None:
    found = java_findings([GOOD, BAD], "http://127.0.0.1:9/")
    assert found.exit_code == NOT_ASKED
    found.show()
    shown = capsys.readouterr().out
    assert "NOT ASKED   2 Java libraries: http://127.0.0.1:9/ can't be asked" in shown
    assert "but not all could." in shown


def answering(answer: Any) -> Findings:
    """What comes of this answer of pip-audit."""
    program = f"print({json.dumps(answer)!r})"
    return python_findings([sys.executable, "-c", program])


def test_python_packages() -> None:
    known = {"id": "X-3", "fix_versions": ["1.1"]}
    answer = [
        {"name": "good", "version": "1.0", "vulns": []},
        {"name": "bad", "version": "1.0", "vulns": [known]},
    ]
    found = answering({"dependencies": answer})
    assert found == Findings(vulnerable=["bad 1.0: X-3, fixed in 1.1"])


def test_a_package_that_is_skipped_was_not_asked_about() -> None:
    found = answering({"dependencies": [{"name": "odd", "skip_reason": "not found"}]})
    assert found.exit_code == NOT_ASKED
    assert found.not_asked == ["1 Python packages, which pip-audit could not find: odd"]


def test_a_pip_audit_that_fails_has_asked_nothing() -> None:
    failing = "import sys; sys.exit('ServiceError: no connection')"
    found = python_findings([sys.executable, "-c", failing])
    assert found.not_asked == ["all Python packages: pip-audit says: ServiceError: no connection"]
