from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headrace.kafka.java import major_version
from headrace.kafka.spark_java import spark_java_home

SPARK = ["--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-modules=jdk.incubator.vector"]


def make_java(home: Path, release: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    (home / "release").write_text(release)
    return java


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    "release", ['JAVA_VERSION="17"\n', 'MODULES="java.base jdk.incubator.vector jdk.net"\n']
)
def test_a_whole_java_is_used_as_it_is(tmp_path: Path, cache: Path, release: str) -> None:
    java = make_java(tmp_path / "java", release)
    assert spark_java_home(java) == tmp_path / "java"
    assert not cache.exists()


def test_one_without_a_release_file_too(tmp_path: Path) -> None:
    java = make_java(tmp_path / "java", "")
    (tmp_path / "java" / "release").unlink()
    assert spark_java_home(java) == tmp_path / "java"


def test_a_small_java_isnt_asked_for_what_it_hasnt(tmp_path: Path, cache: Path) -> None:
    java = make_java(tmp_path / "small java", 'JAVA_VERSION="21"\nMODULES="java.base jdk.net"\n')
    (java.parent / "keytool").write_text("…")
    home = spark_java_home(java)
    assert home.is_relative_to(cache)
    arguments = ["-Xmx1g", *SPARK, "-cp", "a b:c", "Main", "it's", ""]
    said = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True)
    assert said.stdout.split("\n")[:-1] == [each for each in arguments if each != SPARK[1]]
    assert (home / "bin" / "keytool").read_text() == "…"
    assert spark_java_home(java) == home
    # It is a Java like any other, also for us.
    assert major_version(home / "bin" / "java") == 21
    assert spark_java_home(home / "bin" / "java") == home
    assert list((cache / "java").iterdir()) == [home]
