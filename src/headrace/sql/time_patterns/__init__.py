"""Dates and times by pattern, as Java's DateTimeFormatter reads and writes them (in English).

    pattern = time_pattern("yyyy-MM-dd'T'HH:mm:ssX")
    pattern.text_of(Moment.of_timestamp(0, UTC))       # '1970-01-01T00:00:00Z'
    pattern.parse("2020-02-29t10:20:30z").timestamp(UTC)

Text is read in any case. What a text doesn't say is that of 1970-01-01T00:00.
"""

from headrace.sql.time_patterns.moments import Moment, Parsed
from headrace.sql.time_patterns.pattern import TimePattern, time_pattern

__all__ = ["Moment", "Parsed", "TimePattern", "time_pattern"]
