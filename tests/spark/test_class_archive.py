"""The archive of Spark's classes, without starting a Java."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from headrace.spark import class_archive
from headrace.spark.class_archive import java_options


class Java:
    """Makes archives, or doesn't."""

    def __init__(self, content: bytes | None) -> None:
        self.content = content
        self.runs = 0

    def __call__(self, command: list[str], **options: Any) -> None:
        self.runs += 1
        if self.content is not None:
            Path(command[-1]).write_bytes(self.content)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "spark"


def use(monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> Java:
    java = Java(content)
    monkeypatch.setattr(subprocess, "run", java)
    return java


def test_it_is_made_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = use(monkeypatch, b"classes")
    told: list[str] = []
    options = java_options(told.append)
    [archive] = cache.glob("*.jsa")
    assert options.startswith(f"-XX:SharedArchiveFile={archive} ")
    assert java_options(told.append) == options
    assert (java.runs, len(told)) == (1, 1)


def test_a_path_with_a_space_is_one_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "Anne's Gerät"))
    use(monkeypatch, b"classes")
    archive, *_ = shlex.split(java_options())
    [made] = (tmp_path / "Anne's Gerät" / "spark").glob("*.jsa")
    assert archive == f"-XX:SharedArchiveFile={made}"


def test_another_spark_has_another(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, b"classes")
    first = java_options()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert java_options() not in ("", first)
    assert len(list(cache.glob("*.jsa"))) == 2


def test_a_java_that_can_not_is_not_asked_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = use(monkeypatch, None)
    assert java_options() == ""
    assert java_options() == ""
    assert java.runs == 1


def test_a_java_that_takes_too_long(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **options: Any) -> None:
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(subprocess, "run", run)
    assert java_options() == ""


def test_a_cache_that_can_not_be_written(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = use(monkeypatch, b"classes")
    (tmp_path / "cache").write_text("a file")
    assert java_options() == ""
    assert java.runs == 0


def test_archives_of_installations_that_are_gone_are_removed(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, b"classes")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.setenv("SPARK_HOME", str(gone))
    java_options()
    gone.rmdir()
    monkeypatch.delenv("SPARK_HOME")
    java_options()
    assert len(list(cache.glob("*.jsa"))) == len(list(cache.glob("*.home"))) == 1


def test_it_is_for_this_very_class_path() -> None:
    assert class_archive._spark_home().endswith("pyspark")
