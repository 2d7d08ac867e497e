"""Clients from npm, as they are."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.tools import NODE, NPM, NPM_CLIENTS

_NODE = Path(__file__).parent / "node"
_INSTALL_S = 120
_RUN_S = 60


@pytest.fixture(scope="session")
def node() -> str:
    """Node, with the clients installed beside the scripts."""
    program, npm = NODE.program(), NPM.program()
    if not (_NODE / "node_modules" / "ksqldb-js").is_dir():
        installed = subprocess.run(
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=_NODE,
            capture_output=True,
            text=True,
            timeout=_INSTALL_S,
            check=False,
        )
        if installed.returncode:
            NPM_CLIENTS.is_missing(installed.stderr[-500:])
    return program


def _said(node: str, script: str, url: str) -> dict[str, Any]:
    port = url.rpartition(":")[2]
    ran = subprocess.run(
        [node, script, port],
        cwd=_NODE,
        capture_output=True,
        text=True,
        timeout=_RUN_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return said


def test_ksqldb_client(node: str, url: str) -> None:
    said = _said(node, "ksqldb-client.js", url)
    assert said["stream"]["data"]["rows"][0]["commandStatus"]["status"] == "SUCCESS"
    assert said["table"]["data"]["rows"][0]["commandId"] == "table/COUNTS/create"
    for ack in said["inserts"]:
        assert ack["data"]["rows"] == [{"seq": 0, "status": "ok"}]
    assert "CLICKS" in json.dumps(said["streams"])
    assert "COUNTS" in json.dumps(said["description"])
    assert said["pull"]["data"]["rows"] == [{"USER": "anna", "N": 3}]
    assert said["push"] == [{"USER": "anna", "PAGE": page} for page in (1, 2, 3)]
    assert said["error"]["error"]["error_code"] == 40001


def test_ksqldb_js(node: str, url: str) -> None:
    said = _said(node, "ksqldb-js.js", url)
    assert said["table"]["commandStatus"]["status"] == "SUCCESS"
    assert said["id"].startswith("transient_CLICKS_")
    assert said["rows"][0]["columnNames"] == ["USER", "PAGE"]
    assert said["rows"][1:] == [["anna", page] for page in (1, 2, 3)]
    assert said["pull"][0]["columnNames"] == ["USER", "N"]
    assert said["pull"][1] == ["anna", 3]
    assert said["terminated"]["@type"] == "terminate_query"
    assert "NOTHING does not exist" in said["error"]
