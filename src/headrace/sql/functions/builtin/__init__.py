"""ksqlDB's functions, one module for each of its categories."""

from headrace.sql.functions.library import Library

LIBRARIES: tuple[Library, ...] = ()
