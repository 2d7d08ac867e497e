"""Words that mean something, so that they are names only if quoted."""

RESERVED = frozenset(
    (
        "ALL",
        "AND",
        "AS",
        "BETWEEN",
        "BY",
        "CASE",
        "CAST",
        "CREATE",
        "DELETE",
        "DESCRIBE",
        "DISTINCT",
        "DROP",
        "ELSE",
        "END",
        "EXISTS",
        "FALSE",
        "FROM",
        "FULL",
        "GROUP",
        "HAVING",
        "IN",
        "INNER",
        "INSERT",
        "INTO",
        "IS",
        "JOIN",
        "LEFT",
        "LIKE",
        "LIMIT",
        "LIST",
        "NOT",
        "NULL",
        "ON",
        "OR",
        "OUTER",
        "RIGHT",
        "SELECT",
        "STREAM",
        "STREAMS",
        "TABLE",
        "THEN",
        "TRUE",
        "VALUES",
        "WHEN",
        "WHERE",
        "WINDOW",
        "WITH",
        "WITHIN",
    )
)
"""They can't be names at all."""

UNSAFE = RESERVED | {"ARRAY", "DECIMAL", "EMIT", "MAP", "PARTITION", "STRUCT"}
"""Names that are safe only in quotes: with what may follow, they can mean something else."""

CLAUSES = RESERVED | {"EMIT", "PARTITION"}
"""They can't be aliases without AS: a clause begins with them."""
