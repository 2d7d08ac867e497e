"""How tests call the command."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headrace.cli.main import app

Headrace = Callable[..., Result]


@contextmanager
def _logging_as_before() -> Iterator[None]:
    """What a command changes about logging is undone in the end."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    names = ("headrace", "headrace.kafka.client", "py4j", "pyspark")
    levels = {name: logging.getLogger(name).level for name in names}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    with _logging_as_before():
        yield


@pytest.fixture
def headrace() -> Iterator[Headrace]:
    """Calls `headrace` with arguments."""
    yield from running()


def running() -> Iterator[Headrace]:
    """A function that calls it."""

    def call(*arguments: object, input: str = "") -> Result:
        return CliRunner().invoke(app, [str(each) for each in arguments], input=input)

    with _logging_as_before():
        yield call


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Writes a module into the working directory, which is not on Python's path yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)

    return write
