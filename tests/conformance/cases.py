"""Reads the corpus: one file for each group, plain or gzipped."""

from __future__ import annotations

import gzip
import json
import tomllib
from pathlib import Path
from typing import Any

Case = dict[str, Any]

CORPUS = Path(__file__).parent / "corpus"
DIFFERENCES = Path(__file__).parent / "differences.toml"
_VECTORS = ("serde-vectors", "partitioner-vectors")


def group_files(corpus: Path = CORPUS) -> dict[str, Path]:
    """The file of each group, by name. A plain file goes before a gzipped one."""
    found: dict[str, Path] = {}
    for suffix in (".json", ".json.gz"):
        for path in corpus.glob(f"*{suffix}"):
            found.setdefault(path.name.removesuffix(suffix), path)
    return {group: found[group] for group in sorted(found) if group not in _VECTORS}


def read(path: Path) -> list[Case]:
    """The cases of a group's file, or the rows of a vector file."""
    data = path.read_bytes()
    cases: list[Case] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return cases


def known_differences(path: Path = DIFFERENCES) -> dict[str, str]:
    """The cases that are meant to differ, with the reason."""
    listed: dict[str, str] = tomllib.loads(path.read_text())
    return listed
