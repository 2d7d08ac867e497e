"""The operators of the runtime. Importing this package registers the compilers of all of them."""

from headrace.runtime.operators import (
    aggregate,
    foreign_key_join,
    global_join,
    session,
    sliding,
    stateless,
    stream_join,
    stream_table_join,
    suppress,
    table,
    table_join,
    window,
)

__all__ = [
    "aggregate",
    "foreign_key_join",
    "global_join",
    "session",
    "sliding",
    "stateless",
    "stream_join",
    "stream_table_join",
    "suppress",
    "table",
    "table_join",
    "window",
]
