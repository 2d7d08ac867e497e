"""ksqlDB's language on the kernel: text → tokens → AST → analysed → plan → topology.

How SQL values look in Python, everywhere in this package (a type is always known beside the value,
so no value carries it):

| SQL | Python |
|---|---|
| NULL | `None` |
| BOOLEAN | `bool` |
| INTEGER, BIGINT | `int`, in the range of 32 and 64 bits |
| DOUBLE | `float` |
| DECIMAL(p, s) | `decimal.Decimal` with exactly `s` digits after the point |
| STRING, BYTES | `str`, `bytes` |
| DATE | `int`, days since 1970-01-01 |
| TIME | `int`, milliseconds of the day |
| TIMESTAMP | `int`, milliseconds since 1970-01-01 UTC |
| ARRAY, MAP | `list`, `dict` |
| STRUCT | `dict` from field name to value, every field present, in the order of the type |

A row is a tuple of its columns' values in the order of its schema. A record of a stream or table
has the row of its key columns as key, and the row of its value columns as value; a value of None is
a tombstone. Nobody changes a value once it is made.
"""
