"""The workers of a process: several applications beside each other, one run of each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.spark import workers as workers_module
from headrace.spark.workers import Setting, Workers


class FakeWorker:
    def __init__(self, run: int) -> None:
        self.plan = SimpleNamespace(run=run)
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    def make(setting: Setting, now: float) -> Any:
        return workers_module._Entry(FakeWorker(setting.run), None, now)  # type: ignore[arg-type]

    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(workers_module, "_make", make)
    monkeypatch.setattr(workers_module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def setting(application: str, run: int = 1) -> Setting:
    return Setting(application, b"", run, ("localhost", 1, "token"), None)


def test_applications_keep_their_workers_beside_each_other(clock: SimpleNamespace) -> None:
    workers = Workers()
    one, other = workers.of(setting("one")), workers.of(setting("other"))
    assert one is not other
    assert workers.of(setting("one")) is one
    assert workers.of(setting("other")) is other


def test_another_run_takes_the_place_of_the_one_before(clock: SimpleNamespace) -> None:
    workers = Workers()
    before: Any = workers.of(setting("one", run=1))
    after: Any = workers.of(setting("one", run=2))
    assert before.is_closed
    assert not after.is_closed


def test_what_is_idle_may_be_kept(clock: SimpleNamespace) -> None:
    workers = Workers()
    idle: Any = workers.of(setting("idle"))
    clock.now = 40
    workers.keep("idle")
    workers.keep("somebody else")
    clock.now = 80
    workers.of(setting("runs"))
    assert not idle.is_closed
    assert workers.of(setting("idle")) is idle


def test_what_is_not_used_for_long_is_given_up(clock: SimpleNamespace) -> None:
    workers = Workers()
    ended: Any = workers.of(setting("ended"))
    clock.now = 40
    runs: Any = workers.of(setting("runs"))
    clock.now = 80
    assert workers.of(setting("runs")) is runs
    assert ended.is_closed
