"""What tests say that could not run for want of a tool."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import CHROMIUM, NODE, OPENSSL, Tool, closing_line

ROOT = Path(__file__).parents[1]
_RELEASE = Path("/etc/os-release")
_SYSTEM = _RELEASE.read_text() if _RELEASE.exists() else ""
_TESTS = """
import pytest
from tests.tools import CHROMIUM, NODE

@pytest.fixture(scope="module")
def browser():
    return CHROMIUM.program()

def test_one(browser): pass
def test_two(browser): pass
def test_three(): NODE.program()
def test_four(): pass
def test_five(): pytest.skip("for another reason")
"""
_COMMANDS = (
    "Chromium is missing: apt-get install chromium (or name one with the variable CHROMIUM) (2); "
    "Node.js is missing: apt-get install nodejs npm (1)"
)


def ran(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Pytest with tests that need tools, where there are none."""
    file = tmp_path / "test_with_tools.py"
    file.write_text(_TESTS)
    clean = {key: value for key, value in os.environ.items() if key not in ("CI", "CHROMIUM")}
    plugins = ("-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, *plugins, str(file)],
        env={**clean, "PATH": "", **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_closing_line_names_the_commands(tmp_path: Path) -> None:
    done = ran(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, line, figures = done.stdout.splitlines()
    assert line == f"3 tests were not run. {_COMMANDS}"
    assert "1 passed, 4 skipped" in figures


def test_in_ci_a_missing_tool_is_an_error(tmp_path: Path) -> None:
    done = ran(tmp_path, CI="true")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed, 1 skipped, 2 errors" in done.stdout
    assert "Chromium is missing: apt-get install chromium" in done.stdout


def test_a_tool_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "/opt/browser")
    assert CHROMIUM.program() == "/opt/browser"


def test_any_of_the_programs_is_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "second"
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Tool("Something", "find it", ("first", "second")).program() == str(program)


def test_nothing_is_said_if_nothing_is_missing() -> None:
    assert closing_line([]) is None
    assert closing_line(["for another reason", "behind a cache"]) is None


def test_tests_are_counted_by_tool() -> None:
    line = closing_line([f"{OPENSSL.reason}. Why", NODE.reason, OPENSSL.reason])
    assert line is not None
    assert line.startswith("3 tests were not run. OpenSSL is missing: apt-get install openssl (2)")
    assert closing_line([NODE.reason]) == f"1 test was not run. {NODE.reason} (1)"


# scripts/tools


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A machine with next to no programs; its apt-get notes what it is told."""
    for name, text in {
        "id": 'echo "${USER_ID:-0}"',
        "apt-get": f'echo "$@" >>"{tmp_path}/told"; exit "${{APT:-0}}"',
        "node": "",
        "npm": "",
        "javac": "",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def tools(machine: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    assert bash is not None
    return subprocess.run(
        [bash, str(ROOT / "scripts" / "tools")],
        env={"PATH": str(machine), **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def test_who_is_not_root_is_told_what_to_install(bare: Path) -> None:
    done = tools(bare, USER_ID="1000")
    assert "apt-get install chromium openssl" in done.stderr
    assert not (bare / "told").exists()


@pytest.mark.skipif("ID=debian" not in _SYSTEM, reason="only on Debian")
def test_root_has_it_installed(bare: Path) -> None:
    tools(bare, CHROMIUM="/opt/browser")
    update, install = (bare / "told").read_text().splitlines()
    assert update.endswith(" update")
    assert install.endswith(" install --yes --no-install-recommends openssl")


@pytest.mark.skipif("ID=debian" not in _SYSTEM, reason="only on Debian")
def test_without_a_network_it_is_said_what_is_missing(bare: Path) -> None:
    done = tools(bare, APT="100")
    assert "That failed." in done.stderr
    assert "apt-get install chromium openssl" in done.stderr


def test_nothing_is_done_where_everything_is(bare: Path) -> None:
    (bare / "openssl").symlink_to(bare / "node")
    (bare / "google-chrome").symlink_to(bare / "node")
    done = tools(bare)
    assert done.stdout + done.stderr == ""
    assert not (bare / "told").exists()
