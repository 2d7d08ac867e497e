"""Clients from PyPI, as they are. Each is tried by a program of its own, which says what it was
answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools import PYPI_CLIENT

_PROGRAMS = Path(__file__).parent / "python"
_SITE = Path(__file__).parents[3] / ".cache" / "ksql-python-ng"
_INSTALL_S = 120
_RUN_S = 60


def _said(program: str, url: str, **environment: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, str(_PROGRAMS / program), url],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=_RUN_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout)
    return said


def test_ksqldb(url: str) -> None:
    said = _said("with_ksqldb.py", url)
    assert any(each["name"] == "ksql.service.id" for each in said["properties"])
    (created,) = said["stream"]
    assert created["commandId"] == "stream/CLICKS/create"
    assert created["commandStatus"]["status"] == "SUCCESS"
    (counting,) = said["table"]
    assert counting["commandStatus"]["message"].startswith("Created query with ID CTAS_COUNTS_")
    assert said["acks"] == [{"seq": 0, "status": "ok"}, {"seq": 1, "status": "ok"}]
    header, row = said["pull"]
    assert header["columnNames"] == ["USER", "N"]
    assert header["columnTypes"] == ["STRING", "BIGINT"]
    assert row == ["anna", 2]
    _, *rows = said["push"]
    assert sorted(rows, key=str) == [["anna", 1, 1.5], ["anna", 2, None], ["otto", None, None]]
    assert said["closed"] is False


@pytest.fixture(scope="session")
def ksql_python_ng() -> Path:
    """Where that client is. It needs another httpx than we do."""
    if sys.version_info >= (3, 13):
        pytest.skip("ksql-python-ng needs telnetlib, which Python 3.13 has no longer")
    if not (_SITE / "ksql").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target"]
        wanted = ["ksql-python-ng==0.29.0.1", "httpx[http2]==0.27.2"]
        installed = subprocess.run(
            [*pip, str(_SITE), *wanted],
            capture_output=True,
            text=True,
            timeout=_INSTALL_S,
            check=False,
        )
        if installed.returncode:
            PYPI_CLIENT.is_missing(installed.stderr[-500:])
    return _SITE


def test_ksql_python_ng(ksql_python_ng: Path, url: str) -> None:
    said = _said("with_ksql_python_ng.py", url, PYTHONPATH=str(ksql_python_ng))
    assert said["version"]
    assert said["streams"][0]["streams"][0]["name"] == "CLICKS"
    assert said["acks"] == [{"seq": 0, "status": "ok"}, {"seq": 1, "status": "ok"}]
    assert json.loads(said["pull"])[1] == {"row": {"columns": ["anna", 2]}}
    assert said["push"] == [{"USER": "anna", "PAGE": 1}, {"USER": "anna", "PAGE": None}]
    assert "NOTHING does not exist" in said["error"]
    assert said["closed"] is False
