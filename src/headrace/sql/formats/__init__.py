"""Rows as bytes and back: ksqlDB's formats.

A `RowFormat` says how rows look in a topic: the format with its settings, the columns, the
features, and whether it is the key or the value. From WITH properties to a serde:

```
info     = format_info("DELIMITED", delimiter=";")          # FormatError: unknown, unfit settings
                                                            # of keys: key_info_of(source, info)
features = key_features(info, columns)                      # or value_features(info, columns, wrap)
rows     = RowFormat(info, columns, features, is_key=True)
check(rows)                                                 # FormatError: what the format can't do
ids      = register(rows, topic, registry)                  # of a CREATE with columns, of a sink
serde    = row_serde(rows, topic, registry)                 # Serde[Row]
columns  = infer_columns(info, topic, registry, is_key=…)   # of a CREATE without columns
```

Windowed keys: `headrace.serde.windowed` around the serde of the key.
"""

from headrace.sql.formats.catalog import (
    Feature,
    Format,
    FormatError,
    FormatInfo,
    check_info,
    delimiter_character,
    format_info,
    format_named,
    key_info_of,
)
from headrace.sql.formats.inference import (
    check_physical_schema,
    infer_columns,
    register,
    schema_of_columns,
)
from headrace.sql.formats.registry import (
    InMemorySchemaRegistry,
    Reference,
    RegisteredSchema,
    SchemaRegistry,
    SchemaText,
    subject,
)
from headrace.sql.formats.rows import Row, row_serde
from headrace.sql.formats.shape import RowFormat, check, key_features, value_features

__all__ = [
    "Feature",
    "Format",
    "FormatError",
    "FormatInfo",
    "InMemorySchemaRegistry",
    "Reference",
    "RegisteredSchema",
    "Row",
    "RowFormat",
    "SchemaRegistry",
    "SchemaText",
    "check",
    "check_info",
    "check_physical_schema",
    "delimiter_character",
    "format_info",
    "format_named",
    "infer_columns",
    "key_features",
    "key_info_of",
    "register",
    "row_serde",
    "schema_of_columns",
    "subject",
    "value_features",
]
