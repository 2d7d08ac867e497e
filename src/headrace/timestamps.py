"""The built-in timestamp extractors."""

from headrace.topology.nodes import TimestampExtractor
from headrace.topology.timestamps import (
    fail_on_invalid,
    log_and_skip,
    use_partition_time,
    wall_clock,
)

__all__ = [
    "TimestampExtractor",
    "fail_on_invalid",
    "log_and_skip",
    "use_partition_time",
    "wall_clock",
]
