"""Manifests: the files of a set of Java libraries, each with the SHA-256 that it must have.

A set in the cache has one beside its files. Those of the sets that Headrace itself asks for are
locked in `jars.lock`: whatever was downloaded, only these files are used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

LOCK = Path(__file__).with_name("jars.lock")


class Jar(NamedTuple):
    """A file. `coordinate` is `organisation:module:version`."""

    sha256: str
    coordinate: str
    file: str

    @classmethod
    def of(cls, path: Path, coordinates: Iterable[str]) -> Jar:
        """A file that came of one of these."""
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        # The longest: `kafka-clients-3.9.0` could be a classifier's file of `kafka` too.
        fitting = [each for each in coordinates if path.stem.startswith(_stem(each))]
        return cls(digest, max(fitting, key=len, default="unknown"), path.name)


def read_manifest(lines: Iterable[str]) -> list[Jar]:
    """Raises ValueError if it is none."""
    return [Jar(*_three(line)) for line in lines]


def write_manifest(jars: Iterable[Jar]) -> str:
    return "".join(f"{' '.join(jar)}\n" for jar in jars)


def locked_jars(name: str) -> dict[str, Jar]:
    """What the set of this name may have, by file; nothing, if it isn't one of Headrace's own."""
    return {jar.file: jar for section, jar in read_lock() if section == name}


def read_lock() -> Iterator[tuple[str, Jar]]:
    """The name of a set and one of its files, one after the other."""
    section = ""
    for line in LOCK.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            yield section, Jar(*_three(line))


def _three(line: str) -> tuple[str, str, str]:
    sha256, coordinate, file = line.split(" ", 2)
    return sha256, coordinate, file


def _stem(coordinate: str) -> str:
    _, module, version = coordinate.split(":")
    return f"{module}-{version}"
