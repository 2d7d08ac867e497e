"""What each user clicked and bought, gathered from two topics.

Shows a processor with two sources and one store that emits and clears what it gathered every ten
seconds of wall-clock time, so the last activity comes out even when no records follow. Beside it,
the same with the DSL: `cogroup` in windows of event time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from headrace import (
    Materialized,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    TimeWindows,
    Topology,
    serdes,
    stores,
)

CLICKS = "clicks"
PURCHASES = "purchases"
ACTIVITY = "activity"
ACTIVITY_STORE = "activity-store"

INTERVAL = timedelta(seconds=10)


@dataclass(frozen=True)
class Click:
    page: str


@dataclass(frozen=True)
class Purchase:
    item: str
    price: float


@dataclass(frozen=True)
class Activity:
    clicks: tuple[Click, ...] = ()
    purchases: tuple[Purchase, ...] = ()


def add_click(_: str, click: Click, activity: Activity) -> Activity:
    return replace(activity, clicks=(*activity.clicks, click))


def add_purchase(_: str, purchase: Purchase, activity: Activity) -> Activity:
    return replace(activity, purchases=(*activity.purchases, purchase))


def topology() -> Topology:
    """With the Processor API. Both topics are keyed by user and have the same number of partitions,
    so that the clicks and purchases of a user meet in one task."""
    gathered = stores.key_value(ACTIVITY_STORE, key=serdes.string(), value=serdes.json(Activity))
    return (
        Topology()
        .add_source("clicks", CLICKS, key=serdes.string(), value=serdes.json(Click))
        .add_source("purchases", PURCHASES, key=serdes.string(), value=serdes.json(Purchase))
        .add_processor("gather", GatherActivity, "clicks", "purchases", stores=[gathered])
        .add_sink("activity", ACTIVITY, "gather", key=serdes.string(), value=serdes.json(Activity))
    )


class GatherActivity(Processor[str, Click | Purchase, str, Activity]):
    """Gathers until the punctuation, which emits everything and begins again."""

    def init(self, context: ProcessorContext[str, Activity]) -> None:
        super().init(context)
        self.activity = context.get_state_store(ACTIVITY_STORE)
        context.schedule(INTERVAL, PunctuationType.WALL_CLOCK_TIME, self.emit_all)

    def process(self, record: Record[str, Click | Purchase]) -> None:
        user = record.key
        activity = self.activity.get(user) or Activity()
        match record.value:
            case Click() as click:
                self.activity.put(user, add_click(user, click, activity))
            case Purchase() as purchase:
                self.activity.put(user, add_purchase(user, purchase, activity))

    def emit_all(self, timestamp: int) -> None:
        # A list, because the store is changed while we go through it.
        for user, activity in list(self.activity.all()):
            self.context.forward(Record(user, activity, timestamp))
            self.activity.delete(user)


def cogroup_topology() -> Topology:
    """With the DSL: an update after every record, for each user and window."""
    builder = StreamsBuilder()
    clicks = builder.stream(CLICKS, key=serdes.string(), value=serdes.json(Click))
    purchases = builder.stream(PURCHASES, key=serdes.string(), value=serdes.json(Purchase))
    (
        clicks.group_by_key()
        .cogroup(add_click)
        .cogroup(purchases.group_by_key(), add_purchase)
        .windowed_by(TimeWindows.of_size(INTERVAL))
        .aggregate(
            Activity,
            Materialized(ACTIVITY_STORE, key=serdes.string(), value=serdes.json(Activity)),
        )
        .to_stream()
        .to(
            ACTIVITY,
            key=serdes.time_windowed(serdes.string(), INTERVAL),
            value=serdes.json(Activity),
        )
    )
    return builder.build()
