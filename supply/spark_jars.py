"""The Java libraries within PySpark. Most say what they are; `organisations.txt` has the rest."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from headrace.kafka.jar_manifest import Jar

_ORGANISATIONS = Path(__file__).with_name("organisations.txt")


def spark_jars() -> list[Jar]:
    """All of them; the coordinate of one that doesn't tell is `unknown`."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    files = sorted((Path(spec.origin).parent / "jars").glob("*.jar"))
    lines = _ORGANISATIONS.read_text().splitlines()
    organisations = dict(line.split() for line in lines if not line.startswith("#"))
    return [Jar.of(file, [*_written(file), *_listed(file, organisations)]) for file in files]


def _listed(file: Path, organisations: Mapping[str, str]) -> Iterator[str]:
    named = re.match(r"(.+?)-(\d.*)$", file.stem)
    if named is not None and named[1] in organisations:
        yield f"{organisations[named[1]]}:{named[1]}:{named[2]}"


def _written(file: Path) -> Iterator[str]:
    """Of the library, and of others that were copied into it."""
    with zipfile.ZipFile(file) as jar:
        for name in jar.namelist():
            if name.startswith("META-INF/maven/") and name.endswith("/pom.properties"):
                lines = jar.read(name).decode(errors="replace").splitlines()
                facts = dict(line.split("=", 1) for line in map(str.strip, lines) if "=" in line)
                if {"groupId", "artifactId", "version"} <= facts.keys():
                    yield ":".join(facts[key] for key in ("groupId", "artifactId", "version"))
