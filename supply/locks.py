"""Locks of Python packages, `requirements/*.lock`: names, versions and hashes of their files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "requirements"

_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class Package(NamedTuple):
    """A package of which no other version is installed where the marker holds."""

    name: str
    version: str
    marker: Marker | None
    sha256: tuple[str, ...]


def packages(lock: str) -> list[Package]:
    """What a lock, `dev` or another, has."""
    return list(map(_package, _entries((LOCKS / f"{lock}.lock").read_text())))


def _entries(text: str) -> Iterator[str]:
    """A line for each package: they go on over several."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return iter("\n".join(lines).replace("\\\n", " ").splitlines())


def _package(entry: str) -> Package:
    requirement = Requirement(entry.partition(" --hash")[0])
    (version,) = requirement.specifier
    if version.operator != "==":
        raise ValueError(f"{requirement} is not locked to one version")
    return Package(
        canonicalize_name(requirement.name),
        version.version,
        requirement.marker,
        tuple(sorted(_HASH.findall(entry))),
    )
