"""How far the local copies of stores are behind their changelogs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headrace.app.metadata import LagInfo
from headrace.app.restoration import Restoring
from headrace.core.errors import StoreNotAvailableError
from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan
from headrace.query.local_state import GLOBAL, LocalState, StorePartition
from headrace.state.checkpoint import Checkpoint


def store_lags(
    plan: Plan,
    state: LocalState,
    restoring: Iterable[Restoring],
    end_offsets: Callable[[Iterable[TopicPartition]], Mapping[TopicPartition, int]],
) -> dict[str, dict[int, LagInfo]]:
    """By store and partition. Global stores have no lag of their own: every batch begins with
    reading their topics to the end. Nor have stores that this run has written: a changelog may end
    in the mark of a transaction, which the state can't count on yet."""
    changelogs = {
        (store, number): TopicPartition(topic, number)
        for store in plan.topology.stores
        if (topic := plan.changelog_of(store)) is not None
        for number in state.partitions(store)
        if number != GLOBAL
    }
    ends = end_offsets({*changelogs.values()})
    read = {(found.store, found.partition): found.offset for found in restoring}
    lags: dict[str, dict[int, LagInfo]] = {}
    for (store, number), changelog in changelogs.items():
        end = ends[changelog]
        checkpoint = _checkpoint(state.partitions(store)[number])
        if checkpoint is None or changelog.topic not in checkpoint.changelogs:
            current = read.get((store, changelog), 0)
        elif checkpoint.run_id == str(plan.run):
            current = end
        else:
            current = checkpoint.changelogs[changelog.topic][1]
        lags.setdefault(store, {})[number] = LagInfo(current, end, max(0, end - current))
    return lags


def _checkpoint(partition: StorePartition) -> Checkpoint | None:
    try:
        with partition.snapshot() as snapshot:
            return snapshot.checkpoint
    except StoreNotAvailableError:
        return None
