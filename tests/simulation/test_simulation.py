"""The simulation: what its seeds show of the engine, and that it can be relied on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .planted import PLANTED, Planted
from .run import GUARANTEES, run

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_the_same_seed_gives_the_same_bytes(guarantee: str) -> None:
    digests = [run(seed, guarantee).digest for seed in range(14)]
    program = (
        "from tests.simulation.run import run\n"
        f"print([run(seed, {guarantee!r}).digest for seed in range(14)])"
    )
    for hash_seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == str(digests)


def test_a_history_changes_nothing() -> None:
    quiet, told = run(3, GUARANTEES[0]), run(3, GUARANTEES[0], history=True)
    assert quiet.digest == told.digest
    assert any("***" in what for _, _, what in told.history)


@pytest.mark.parametrize("planted", PLANTED, ids=[planted.name for planted in PLANTED])
def test_a_planted_fault_is_found(planted: Planted) -> None:
    assert planted.find() is not None
