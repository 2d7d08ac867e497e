"""The five most traded shares of each industry, kept up to date.

Shows a table made of a stream by `reduce`, regrouped by another key, and aggregated with an adder
and a subtractor: when the volume of a share changes, the old one is subtracted and the new added.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace import Materialized, StreamsBuilder, Topology, serdes

TRADES = "trades"
TOP_FIVE = "top-five"
VOLUMES_STORE = "volumes"
INDUSTRIES_STORE = "industries"


@dataclass(frozen=True)
class Trade:
    symbol: str
    industry: str
    shares: int
    price: float


@dataclass(frozen=True)
class Volume:
    """How many shares of a company were traded."""

    symbol: str
    industry: str
    shares: int


@dataclass(frozen=True)
class Industry:
    """The volume of every share of an industry. All are kept, not just five: when one falls back,
    the sixth takes its place."""

    volumes: dict[str, int] = field(default_factory=dict)


def topology() -> Topology:
    builder = StreamsBuilder()
    volumes = (
        builder.stream(TRADES, key=serdes.string(), value=serdes.json(Trade))
        .map_values(lambda trade: Volume(trade.symbol, trade.industry, trade.shares))
        .group_by(lambda _, volume: volume.symbol, key=serdes.string(), value=serdes.json(Volume))
        .reduce(add_shares, VOLUMES_STORE)
    )
    (
        volumes.group_by(
            lambda _, volume: (volume.industry, volume),
            key=serdes.string(),
            value=serdes.json(Volume),
        )
        .aggregate(
            Industry,
            add_volume,
            subtract_volume,
            Materialized(INDUSTRIES_STORE, key=serdes.string(), value=serdes.json(Industry)),
        )
        .map_values(top_five)
        .to_stream()
        .to(TOP_FIVE, key=serdes.string(), value=serdes.json(list[str]))
    )
    return builder.build()


def add_shares(so_far: Volume, volume: Volume) -> Volume:
    """The industry of the later trade counts: a company may be moved to another."""
    return Volume(volume.symbol, volume.industry, so_far.shares + volume.shares)


def add_volume(_: str, volume: Volume, industry: Industry) -> Industry:
    return Industry({**industry.volumes, volume.symbol: volume.shares})


def subtract_volume(_: str, volume: Volume, industry: Industry) -> Industry:
    others = {name: shares for name, shares in industry.volumes.items() if name != volume.symbol}
    return Industry(others)


def top_five(industry: Industry) -> list[str]:
    """Like "1. ACME 1,500"; equal volumes in the order of their symbols."""
    ranking = sorted(industry.volumes.items(), key=lambda entry: (-entry[1], entry[0]))
    return [f"{rank}. {name} {n:,}" for rank, (name, n) in enumerate(ranking[:5], start=1)]
