"""Faults happen where they are planned, and once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from . import ROOT
from .faults import VARIABLE, Act, Fault, FaultPlan, observe
from .processes import Process, end_session, of_session

WORKER = """
import sys, time
from tests.chaos.faults import observe
for _ in range(200):
    for step in ("acquired", "processed", "committed"):
        observe(int(sys.argv[1]), step)
        time.sleep(0.001)
"""


def worker(plan: FaultPlan, slot: int = 0) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), VARIABLE: str(plan.directory)}
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(slot)], env=environment, start_new_session=True
    )


@pytest.fixture
def plan(tmp_path: Path) -> FaultPlan:
    return FaultPlan(tmp_path / "plan")


def test_without_a_plan_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    observe(0, "processed")


def test_each_fault_is_done_once_by_one_of_several(plan: FaultPlan) -> None:
    plan.add([Fault("processed"), Fault("committed", skip=3)])
    codes = sorted(one.wait(60) for one in [worker(plan) for _ in range(4)])
    assert codes == [-signal.SIGKILL, -signal.SIGKILL, 0, 0]
    assert plan.pending == 0
    assert [line.split(" (")[0].split(" ", 1)[1] for line in plan.done] == [
        "kill at processed",
        "kill at committed",
    ]


def test_a_fault_waits_for_its_slot(plan: FaultPlan) -> None:
    plan.add([Fault("processed", slot=1)])
    assert worker(plan, slot=0).wait(60) == 0
    assert plan.pending == 1
    assert worker(plan, slot=1).wait(60) == -signal.SIGKILL


def test_faults_can_be_added_and_forgotten(plan: FaultPlan) -> None:
    plan.add([Fault("nowhere")])
    plan.add([Fault("processed")])
    assert plan.pending == 2
    assert worker(plan).wait(60) == 0  # one after the other
    plan.forget()
    assert plan.pending == 0


def test_a_stopped_worker_goes_on_when_told(plan: FaultPlan) -> None:
    plan.add([Fault("processed", Act.STOP)])
    process = worker(plan)
    while not (stopped := plan.stopped()):
        time.sleep(0.01)
    while (found := Process.read(process.pid)) and found.state != "T":
        time.sleep(0.01)
    assert stopped == [process.pid]
    plan.go_on(process.pid)
    assert process.wait(60) == 0


def test_the_driver_is_killed_by_its_number(plan: FaultPlan) -> None:
    driver = subprocess.Popen(["sleep", "60"])
    plan.set_driver(driver.pid)
    plan.add([Fault("processed", Act.KILL_DRIVER)])
    assert worker(plan).wait(60) == 0
    assert driver.wait(60) == -signal.SIGKILL


def test_a_session_ends_with_all_its_processes() -> None:
    process = subprocess.Popen(["sh", "-c", "sleep 60 & sleep 60; true"], start_new_session=True)
    while len(of_session(process.pid)) < 3:
        time.sleep(0.01)
    end_session(process.pid)
    assert process.wait(60) == -signal.SIGKILL
    while of_session(process.pid):  # what has been killed needs a moment to be gone
        time.sleep(0.01)
