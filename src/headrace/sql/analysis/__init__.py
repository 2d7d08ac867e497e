"""From an AST to what it means: which columns of which sources, which aggregates, which joins."""
