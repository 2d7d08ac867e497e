"""How the process that serves a host's state is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.spark.node import LOCK_FILE, NodeKeeper
from headrace.state.directory import StateDirectory

PROGRAM = """
import json, os, sys

found = [sys.argv[1:], dict(os.environ), sys.stdin.buffer.read().decode()]
with open("{path}", "w") as file:
    json.dump(found, file)
"""


def test_what_is_secret_comes_by_the_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tmp_path / "found"
    (tmp_path / "some_node.py").write_text(PROGRAM.format(path=found))
    monkeypatch.syspath_prepend(tmp_path)
    directory = StateDirectory(tmp_path / "state", "app")
    keeper = NodeKeeper(directory, "some_node", b"the plan", ("127.0.0.1", 7, "s3cret"))
    keeper.look()
    keeper.wait(60)
    arguments, environment, text = json.loads(found.read_text())
    assert arguments == []
    assert not any("s3cret" in value for value in environment.values())
    assert text == '["127.0.0.1",7,"s3cret"]\nthe plan'
    assert (directory.path / LOCK_FILE).exists()


def test_a_node_that_does_not_start_is_no_reason_to_fail(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path, "app")
    plan = bytes(1 << 20)  # more than a pipe holds
    keeper = NodeKeeper(directory, "there_is_no_such_module", plan, ("127.0.0.1", 7, "token"))
    keeper.look()
    keeper.wait(60)
    assert "there_is_no_such_module" in (directory.path / "node.log").read_text()
