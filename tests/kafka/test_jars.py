"""With a program in place of Java that does what Ivy does, as far as it matters here."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from headrace.core.errors import ConfigError
from headrace.kafka import jar_manifest, jars
from headrace.kafka.jar_manifest import Jar
from headrace.kafka.jars import JarSet, resolve

SET = JarSet("things", ("org.example:thing_2.13:1.0", "org.example:other:2.0"))

# It begins as pip's programs do: the path of a Python can have a space in it.
# Ivy's arguments come after `-cp <jar> org.apache.ivy.Main`, in pairs but for -types.
IVY = """\
#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import pathlib, sys, time
arguments = sys.argv[4:]
values = {{name: arguments[i + 1] for i, name in enumerate(arguments) if name[0] == "-"}}
with open("{calls}", "a") as calls:
    calls.write(pathlib.Path(values["-ivy"]).read_text() + "\\n--\\n")
pathlib.Path(values["-cache"]).mkdir(exist_ok=True)
target = pathlib.Path(values["-retrieve"]).parent
{body}
"""
WORKS = """\
for number in range(12):
    print(f"\\tfound org.example#thing{number};1.0 in public")
    print(f"\\t[SUCCESSFUL ] thing{number}.jar (3ms)")
    (target / f"thing{number}-1.0.jar").write_bytes(b"x" * number)
"""


class Ivy:
    def __init__(self, directory: Path) -> None:
        self._java = directory / "bin" / "java"
        self._calls = directory / "calls"
        self._java.parent.mkdir(parents=True)
        (directory / "release").write_text('JAVA_VERSION="17"\n')
        self.becomes(WORKS)

    def becomes(self, body: str) -> None:
        python = sys.executable
        self._java.write_text(IVY.format(python=python, calls=self._calls, body=body))
        self._java.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        """The module descriptions it was called with."""
        return self._calls.read_text().split("\n--\n")[:-1] if self._calls.exists() else []


@pytest.fixture
def ivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ivy:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return Ivy(tmp_path / "java")


def test_resolved_once(ivy: Ivy, tmp_path: Path) -> None:
    assert not jars.is_resolved(SET)
    lines: list[str] = []
    files = resolve(SET, lines.append)
    assert len(files) == 12
    assert all(file.exists() and file.is_relative_to(tmp_path / "cache") for file in files)
    assert "things: resolving, 10 libraries so far" in lines
    assert "things: downloading, 10 jars so far" in lines
    assert lines[-1] == f"things: 12 jars in {files[0].parent}"

    assert jars.is_resolved(SET)
    assert resolve(SET, pytest.fail) == files
    assert len(ivy.calls) == 1
    # Nothing else is left behind.
    assert {path.name for path in files[0].parent.parent.iterdir()} == {
        ".lock",
        files[0].parent.name,
    }


def test_other_versions_are_another_directory(ivy: Ivy) -> None:
    first = resolve(SET)
    second = resolve(SET._replace(coordinates=("org.example:thing_2.13:1.1",)))
    assert first[0].parent != second[0].parent
    assert len(ivy.calls) == 2


def test_what_ivy_is_asked_for(ivy: Ivy) -> None:
    resolve(SET)
    assert re.findall(
        r'<dependency org="(.+)" name="(.+)" rev="(.+)" conf="(.+)"', ivy.calls[0]
    ) == [
        ("org.example", "thing_2.13", "1.0", "default->default"),
        ("org.example", "other", "2.0", "default->default"),
    ]
    assert "exclude" not in ivy.calls[0]


def test_beside_spark_leaves_out_what_spark_has(ivy: Ivy) -> None:
    resolve(SET._replace(beside_spark=True))
    excluded = set(re.findall(r'<exclude module="(.+)"/>', ivy.calls[0]))
    assert {"slf4j-api", "hadoop-client-api", "lz4-java", "snappy-java", "jsr305"} <= excluded
    assert not {"kafka-clients", "commons-pool2", "spark-sql-kafka-0-10_2.13"} & excluded


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.unlink(),
        lambda file: file.write_bytes(b"half"),
        lambda file: file.write_bytes(b"xyx"),  # as long as before
    ],
)
def test_a_spoiled_cache_is_made_anew(
    ivy: Ivy, spoil: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    files = resolve(SET)
    spoiled = next(file for file in files if file.name == "thing3-1.0.jar")
    spoil(spoiled)
    assert not jars.is_resolved(SET)
    lines: list[str] = []
    assert resolve(SET, lines.append) == files
    assert "things: damaged, to be fetched again: thing3-1.0.jar" in lines
    assert f"fetched again: thing3-1.0.jar (in {files[0].parent})" in caplog.text
    assert spoiled.read_bytes() == b"xxx"
    assert len(ivy.calls) == 2
    assert resolve(SET, pytest.fail) == files


@pytest.fixture
def locked(ivy: Ivy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The set's files, in the cache; its lock has them as they are now."""
    files = resolve(SET)
    lock = tmp_path / "jars.lock"
    manifest = (files[0].parent / jars.MANIFEST).read_text()
    lock.write_text(f"# Written by a test\n\n[other]\n\n[things]\n{manifest}")
    monkeypatch.setattr(jar_manifest, "LOCK", lock)
    return files


def test_a_file_changed_together_with_its_manifest_is_found(locked: list[Path], ivy: Ivy) -> None:
    directory, file = locked[0].parent, locked[3]
    file.write_bytes(b"evil")
    changed = [Jar.of(path, ()) for path in locked]
    (directory / jars.MANIFEST).write_text(jar_manifest.write_manifest(changed))
    assert not jars.is_resolved(SET)
    assert resolve(SET) == locked
    assert file.read_bytes() != b"evil"
    assert len(ivy.calls) == 2


@pytest.mark.parametrize("file", ["thing3-1.0.jar", "another-1.0.jar"])
def test_only_locked_files_are_used(locked: list[Path], ivy: Ivy, file: str) -> None:
    ivy.becomes(f'{WORKS}\n(target / "{file}").write_bytes(b"evil")')
    locked[0].unlink()
    with pytest.raises(ConfigError, match=f"not the ones that Headrace was made for: {file}. Th"):
        resolve(SET)
    assert not jars.is_resolved(SET)
    ivy.becomes(WORKS)
    assert resolve(SET) == locked


def test_what_spark_has_may_be_missing(locked: list[Path], ivy: Ivy) -> None:
    ivy.becomes(f'{WORKS}\n(target / "thing3-1.0.jar").unlink()')
    locked[0].unlink()
    assert len(resolve(SET)) == 11


def test_a_manifest_says_what_a_file_came_of(ivy: Ivy) -> None:
    first = resolve(SET)[0]
    listed = jar_manifest.read_manifest((first.parent / jars.MANIFEST).read_text().splitlines())
    assert Jar(sha256(b"x" * 7).hexdigest(), "org.example:thing7:1.0", "thing7-1.0.jar") in listed


def test_a_failure_leaves_nothing_and_says_why(ivy: Ivy) -> None:
    ivy.becomes(
        '(target / "thing-1.0.jar").write_bytes(b"x")\n'
        'print("::::::::::::::\\n:: UNRESOLVED DEPENDENCIES ::")\n'
        'print("\\t\\t:: org.example#thing_2.13;1.0: not found")\n'
        "sys.exit(1)"
    )
    with pytest.raises(ConfigError) as raised:
        resolve(SET)
    assert "\n  org.example#thing_2.13;1.0: not found\n" in str(raised.value)
    assert "needs the network" in str(raised.value)
    ivy.becomes(WORKS)
    assert len(resolve(SET)) == 12


def test_a_failure_without_a_known_reason_shows_what_ivy_said(ivy: Ivy) -> None:
    ivy.becomes('print("out of cheese")\nsys.exit(1)')
    with pytest.raises(ConfigError, match="out of cheese"):
        resolve(SET)


def test_success_without_jars_is_none(ivy: Ivy) -> None:
    ivy.becomes("")
    with pytest.raises(ConfigError, match=r"no jars for org.example:thing"):
        resolve(SET)


def test_an_interrupted_resolution_doesnt_count(ivy: Ivy) -> None:
    ivy.becomes(WORKS + "sys.stdout.flush()\ntime.sleep(60)")

    def interrupt(line: str) -> None:
        if "downloading" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolve(SET, interrupt)
    assert not jars.is_resolved(SET)
    ivy.becomes(WORKS)
    assert len(resolve(SET)) == 12


def test_processes_wait_for_one_another(ivy: Ivy) -> None:
    ivy.becomes(WORKS + "time.sleep(0.5)")
    script = (
        "from headrace.kafka.jars import *\n"
        f"print(len(resolve(JarSet(*{tuple(SET)!r}), print)), 'jars')"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate()[0] for process in processes]
    assert all(text.endswith("12 jars\n") for text in said)
    assert sum("waiting for it" in text for text in said) == 2
    assert len(ivy.calls) == 1


def test_a_cache_that_cant_be_written(
    ivy: Ivy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="Set HEADRACE_CACHE"):
        resolve(SET)


def test_without_pyspark(ivy: Ivy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pip install pyspark"):
        resolve(SET)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", "~/elsewhere")
    assert jars.cache_directory() == Path.home() / "elsewhere"
    monkeypatch.delenv("HEADRACE_CACHE")
    assert jars.cache_directory() == Path.home() / ".cache" / "headrace"


def test_pyspark_isnt_imported() -> None:
    script = (
        "import sys; from headrace.kafka import jars\n"
        "jars.is_resolved(jars.SPARK_KAFKA)\n"
        "assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
