"""Kills are spread over victims and steps."""

from __future__ import annotations

from typing import Any

import pytest

from .faults import STEPS, Fault
from .kills import Kills, Victim, shares


class Planned:
    """A run in which every fault that is planned is done at once."""

    def __init__(self) -> None:
        self.plan = self
        self.faults: list[Fault] = []
        self.others = 0

    def add(self, faults: list[Fault]) -> None:
        self.faults += faults

    def wait_for_faults(self) -> None: ...

    def wait(self, reached: Any, what: str) -> None:
        self.others += 1


def test_each_victim_has_its_share() -> None:
    assert shares(300) == {Victim.WORKER: 100, Victim.EXECUTOR: 100, Victim.DRIVER: 100}
    assert shares(2) == {Victim.WORKER: 1, Victim.EXECUTOR: 1}
    assert shares(0) == {}


@pytest.mark.parametrize("victim", [Victim.WORKER, Victim.EXECUTOR])
def test_every_step_is_met_as_often(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    run: Any = Planned()
    run.kill_worker = lambda: True
    kills = Kills(victim, seed=1)
    kills.disturb(run, 100)
    assert kills.total == len(run.faults) + run.others == 100
    assert {fault.act for fault in run.faults} == {victim.value}
    often = [kills.done[step] for step in STEPS]
    assert max(often) - min(often) <= 1
    assert str(kills).startswith(f"100 of {victim}s ({often[0]} at acquired, ")
