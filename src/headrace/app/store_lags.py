"""How far the local copies of stores are behind their changelogs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headrace.app.metadata import LagInfo
from headrace.app.restoration import Restoring
from headrace.core.errors import StoreNotAvailableError
from headrace.core.record import TopicPartition
from headrace.engine.plan import Plan
from headrace.query.local_state import GLOBAL, LocalState, StorePartition


def store_lags(
    plan: Plan,
    state: LocalState,
    restoring: Iterable[Restoring],
    end_offsets: Callable[[Iterable[TopicPartition]], Mapping[TopicPartition, int]],
) -> dict[str, dict[int, LagInfo]]:
    """By store and partition. Global stores have no lag of their own: every batch begins with
    reading their topics to the end."""
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
        applied = _applied(state.partitions(store)[number], changelog)
        current = read.get((store, changelog), 0) if applied is None else applied
        end = ends[changelog]
        lags.setdefault(store, {})[number] = LagInfo(current, end, max(0, end - current))
    return lags


def _applied(partition: StorePartition, changelog: TopicPartition) -> int | None:
    """Up to where the changelog is in the local state; None if there is none."""
    try:
        with partition.snapshot() as snapshot:
            found = snapshot.checkpoint.changelogs.get(changelog.topic)
    except StoreNotAvailableError:
        return None
    return None if found is None else found[1]
