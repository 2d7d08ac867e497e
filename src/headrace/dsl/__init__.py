"""The DSL: streams and tables, and what can be done with them."""

from headrace.dsl.branched import BranchedKStream
from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.cogrouped import (
    CogroupedKStream,
    SessionWindowedCogroupedKStream,
    TimeWindowedCogroupedKStream,
)
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.grouped import KGroupedStream, KGroupedTable
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.materialized import Materialized
from headrace.dsl.suppressed import BufferConfig, Suppressed
from headrace.dsl.windowed import SessionWindowedKStream, TimeWindowedKStream
from headrace.dsl.with_key import WithKey, with_key

__all__ = [
    "BranchedKStream",
    "BufferConfig",
    "CogroupedKStream",
    "GlobalKTable",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "Materialized",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "StreamsBuilder",
    "Suppressed",
    "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream",
    "WithKey",
    "with_key",
]
