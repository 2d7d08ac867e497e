from __future__ import annotations

import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from examples import demo
from examples.store_purchases import (
    COFFEE,
    DEPARTMENT_COUNTS,
    ELECTRONICS,
    KEPT_PURCHASES,
    PATTERNS,
    REWARDS,
)

PURCHASES = 400


@pytest.fixture(scope="module")
def shown() -> str:
    out = StringIO()
    demo.main(PURCHASES, Console(file=out, width=80, highlight=False))
    return out.getvalue()


def test_every_topic_and_store_of_the_topology_is_shown(shown: str) -> None:
    for topic in (PATTERNS, REWARDS, COFFEE, ELECTRONICS, KEPT_PURCHASES, DEPARTMENT_COUNTS):
        assert f"write {topic}" in shown
    assert "with store points" in shown
    assert "with store per-department" in shown


def test_all_purchases_are_counted(shown: str) -> None:
    rows = re.findall(r"^\d\d:\d\d-\d\d:\d\d((?: +[\d,]+)+)$", shown, re.MULTILINE)
    assert len(rows) == 4
    assert sum(int(count) for row in rows for count in row.split()) == PURCHASES


def test_speed_is_reported(shown: str) -> None:
    assert re.search(r"400 purchases in [\d.]+ s: [\d,]+ records/second", shown)


def test_cards_are_masked(shown: str) -> None:
    assert re.search(r"card=xxxx-xxxx-xxxx-\d{4}\b", shown)
    assert not re.search(r"\d{4}-\d{4}-\d{4}-\d{4}", shown)


def test_state_comes_back_after_the_crash(shown: str) -> None:
    text = " ".join(shown.split())
    assert re.search(r"State came back in [\d.]+ s: the points of 10 customers and 20 counts", text)


def test_points_go_on_after_the_crash(shown: str) -> None:
    text = " ".join(shown.split())
    found = re.search(r"had ([\d,]+) points, gets (\d+) more, and has ([\d,]+)\.", text)
    assert found is not None
    before, more, after = (int(number.replace(",", "")) for number in found.groups())
    assert before + more == after


def test_it_says_where_to_go_next(shown: str) -> None:
    named = re.findall(r"^((?:tests|examples)/\S*)  ", shown, re.MULTILINE)
    assert named
    assert all((Path(demo.__file__).parent.parent / path).exists() for path in named)


def test_it_fits_an_80_column_terminal(shown: str) -> None:
    assert max(map(len, shown.splitlines())) <= 80


def test_purchases_are_the_same_in_every_run() -> None:
    assert list(demo.generate(50)) == list(demo.generate(50))


def test_it_runs_as_make_runs_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Where to go next" in done.stdout
