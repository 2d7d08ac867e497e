"""Stocks whose price moved, reported every ten seconds.

Shows the Processor API: a topology put together by hand, a processor with a state store, and a
punctuation that looks through the store whenever stream time has advanced far enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from headrace import Processor, ProcessorContext, PunctuationType, Record, Topology, serdes, stores

TRADES = "trades"
MOVES = "moves"
QUOTES_STORE = "quotes"

INTERVAL = timedelta(seconds=10)
THRESHOLD = 0.02


@dataclass(frozen=True)
class Trade:
    shares: int
    price: float


@dataclass(frozen=True)
class Quote:
    """The latest price of a stock, the one that was last reported, and what was traded since."""

    price: float
    reported_price: float
    shares: int

    @property
    def change(self) -> float:
        return self.price / self.reported_price - 1


@dataclass(frozen=True)
class Move:
    """`change` is relative: 0.05 is five percent up."""

    price: float
    change: float
    shares: int


def topology() -> Topology:
    quotes = stores.key_value(QUOTES_STORE, key=serdes.string(), value=serdes.json(Quote))
    return (
        Topology()
        .add_source("trades", TRADES, key=serdes.string(), value=serdes.json(Trade))
        .add_processor("performance", StockPerformance, "trades", stores=[quotes])
        .add_sink("moves", MOVES, "performance", key=serdes.string(), value=serdes.json(Move))
    )


class StockPerformance(Processor[str, Trade, str, Move]):
    """Keeps a quote for each stock, and reports those that moved by the threshold or more since
    they were last reported."""

    def init(self, context: ProcessorContext[str, Move]) -> None:
        super().init(context)
        self.quotes = context.get_state_store(QUOTES_STORE)
        context.schedule(INTERVAL, PunctuationType.STREAM_TIME, self.report_moves)

    def process(self, record: Record[str, Trade]) -> None:
        trade = record.value
        quote = self.quotes.get(record.key) or Quote(trade.price, trade.price, 0)
        self.quotes.put(
            record.key, replace(quote, price=trade.price, shares=quote.shares + trade.shares)
        )

    def report_moves(self, timestamp: int) -> None:
        # A list, because the store is changed while we go through it.
        for symbol, quote in list(self.quotes.all()):
            if abs(quote.change) >= THRESHOLD:
                move = Move(quote.price, round(quote.change, 4), quote.shares)
                self.context.forward(Record(symbol, move, timestamp))
                self.quotes.put(symbol, Quote(quote.price, quote.price, 0))
