"""ksqlDB's functions, one module for each of its categories, or for a part of one."""

from headrace.sql.functions.builtin import by_offset, collecting, extremes, sums
from headrace.sql.functions.library import Library

LIBRARIES: tuple[Library, ...] = (
    by_offset.library,
    collecting.library,
    extremes.library,
    sums.library,
)
