from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.cli import reset as command
from headrace.cli.reset import Plan
from headrace.core.errors import ArgumentError, StateError
from headrace.core.record import TopicPartition
from headrace.kafka.port import Position
from headrace.state.directory import StateDirectory
from tests.cli.conftest import Headrace

ORDERS = TopicPartition("orders", 0)
REPARTITIONED = TopicPartition("shop-by-word-repartition", 0)


class FakeAdmin:
    """A cluster with the application `shop`, and what was done to it."""

    def __init__(self) -> None:
        self.offsets = {ORDERS: 5, REPARTITIONED: 7}
        self.members: list[str] = []
        self.done: list[tuple[Any, ...]] = []
        self.commits = False

    def list_topics(self) -> dict[str, int]:
        names = ["orders", "shop-out", "shop-counts-changelog", "shop-headrace"]
        return dict.fromkeys([*names, REPARTITIONED.topic], 1)

    def group_offsets(self, group: str) -> dict[TopicPartition, int]:
        if self.commits:
            self.offsets = {part: offset + 1 for part, offset in self.offsets.items()}
        return dict(self.offsets)

    def group_members(self, group: str) -> list[str]:
        return self.members

    def delete_group(self, group: str) -> None:
        self.done.append(("group", group))

    def delete(self, topics: list[str]) -> None:
        self.done.append(("topics", *topics))

    def alter_offsets(self, group: str, positions: Any) -> None:
        self.done.append(("positions", group, dict(positions)))


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(command, "_WATCH_S", 0.0)
    return FakeAdmin()


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    directory = StateDirectory(tmp_path, "shop")
    directory.task("0_0").mkdir(parents=True)
    return directory


def test_the_plan_is_shown(admin: Any, state: StateDirectory) -> None:
    plan = Plan.of("shop", admin, state, ["shop-by-word-repartition"])
    assert plan.lines() == [
        "group shop: positions of 2 partitions go",
        "  orders-0: was at 5",
        "topics: 2 are deleted",
        "  shop-counts-changelog",
        "  shop-headrace",
        "  (Those of an application whose id begins with 'shop-' look the same: "
        "--keep what is not meant.)",
        f"local state: {state.path}",
    ]
    plan.begin = {ORDERS: Position(3)}
    assert "  orders-0: was at 5, begins at 3" in plan.lines()


def test_nothing_to_reset(admin: Any, tmp_path: Path) -> None:
    admin.offsets = {}
    plan = Plan.of("other", admin, StateDirectory(tmp_path, "other"), ())
    assert plan.lines() == [
        "group other: positions of 0 partitions go",
        "topics: 0 are deleted",
        "local state: none on this machine",
    ]


def test_the_plan_is_executed(admin: Any, state: StateDirectory) -> None:
    plan = Plan.of("shop", admin, state, ())
    plan.begin = {ORDERS: Position(0)}
    plan.refuse_while_running(admin)
    plan.execute(admin, state)
    assert admin.done == [
        ("group", "shop-headrace"),
        ("group", "shop"),
        ("topics", "shop-by-word-repartition", "shop-counts-changelog", "shop-headrace"),
        ("positions", "shop", {ORDERS: Position(0)}),
    ]
    assert not state.path.exists()


def test_a_running_application_is_left_alone(admin: Any, state: StateDirectory) -> None:
    plan = Plan.of("shop", admin, state, ())
    admin.members = ["shop-1-consumer"]
    with pytest.raises(StateError, match="shop-1-consumer is in the consumer group shop"):
        plan.refuse_while_running(admin)
    admin.members = []
    admin.commits = True
    with pytest.raises(StateError, match="its positions have just changed"):
        plan.refuse_while_running(admin)


def test_what_must_be_given(headrace: Headrace) -> None:
    assert "application.id must be given" in headrace("reset", "-b", "kafka:1").stderr
    assert "bootstrap.servers must be given" in headrace("reset", "-a", "shop").stderr


def test_times() -> None:
    assert command._timestamp("2024-05-01T12:00") == 1714564800000
    assert command._timestamp("2024-05-01T14:00+02:00") == 1714564800000
    with pytest.raises(ArgumentError, match="earliest, latest, or a time"):
        command._timestamp("yesterday")
