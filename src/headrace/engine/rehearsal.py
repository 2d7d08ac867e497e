"""The rehearsal: whether a plan can be run, tried without Kafka and without state."""

from __future__ import annotations

from headrace.core.clock import Clock
from headrace.engine.plan import Plan, TaskPlan
from headrace.engine.report import Failure, TaskReport
from headrace.engine.worker import SlotListener
from headrace.runtime.global_task import GlobalTask
from headrace.runtime.task import StreamTask


def rehearse(plan: Plan, worker: str, listener: SlotListener, clock: Clock) -> list[TaskReport]:
    """Build one task of each sub-topology in memory, and have its processors initialized and
    closed. The report of one that fails has its error, and is the last."""
    reports = []
    try:
        global_task = None
        if plan.global_task is not None:
            global_task = GlobalTask(plan.spec(plan.global_task), clock)
        for task in _one_of_each(plan):
            listener.starting(0, task.id)
            reports.append(TaskReport(str(task.id), 0, worker))
            shared = {} if global_task is None else global_task.stores
            kernel = StreamTask(plan.spec(task), clock, global_stores=shared)
            kernel.start()
            kernel.close()
        if global_task is not None:
            global_task.close()
    except Exception as error:
        name = reports.pop().task if reports else ""
        reports.append(TaskReport(name, 0, worker, failure=Failure.of(error)))
    return reports


def _one_of_each(plan: Plan) -> list[TaskPlan]:
    return list({task.id.subtopology: task for task in reversed(plan.tasks)}.values())[::-1]
