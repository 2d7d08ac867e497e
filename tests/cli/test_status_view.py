from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console, RenderableType

from headrace.app.lifecycle import State
from headrace.app.restoration import Restoring
from headrace.app.status import Status
from headrace.cli.status_view import line, panel
from headrace.core.record import TopicPartition
from headrace.engine.report import TaskReport

RUNNING = Status(
    State.RUNNING,
    tasks={name: TaskReport(name, slot, "worker", 5) for slot, name in enumerate(["0_10", "0_2"])},
    dropped={"0_2": 7},
    records_total=1234567,
    rate=2345.6,
    lag=42,
    batches=3,
    batch_ms=201.4,
)


def restoring(count: int) -> tuple[Restoring, ...]:
    return tuple(
        Restoring(f"store-{number}", TopicPartition("app-store-changelog", number), 100, 200, 150)
        for number in range(count)
    )


def shown(renderable: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(renderable)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_a_line() -> None:
    assert line(RUNNING) == ("RUNNING, 2 tasks, 1,234,567 records, 2,346/s, lag 42, batch 201 ms")


def test_a_line_of_a_start() -> None:
    status = Status(State.REBALANCING, restoring=restoring(2), last_error="the broker was away")
    assert line(status) == (
        "REBALANCING, 0 tasks, 0 records, 0/s, lag ?, batch 0 ms, "
        "restoring 2 stores (100 of 200 records), last error: the broker was away"
    )


def test_a_panel() -> None:
    text = shown(panel(RUNNING, "shop"))
    assert "RUNNING  shop" in text
    assert "1,234,567 records" in text
    assert "lag 42" in text
    assert text.index("0_2 ") < text.index("0_10 ")
    assert ["0_2", "1", "5", "7", "0"] in [row.split() for row in text.splitlines()]
    assert "restoring" not in text


def test_restoring_and_errors_in_a_panel() -> None:
    status = replace(RUNNING, restoring=restoring(14), last_error="[x] is wrong")
    text = shown(panel(status, "shop"))
    assert "700 of 1,400" in text
    assert "store-0 0" in text
    assert "and 2 more" in text
    assert "[x] is wrong" in text


def test_many_tasks() -> None:
    tasks = {f"0_{number}": TaskReport(f"0_{number}", 0, "worker") for number in range(20)}
    assert "and 8 more" in shown(panel(replace(RUNNING, tasks=tasks), "shop"))
