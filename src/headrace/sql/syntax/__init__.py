"""From SQL text to an AST, and back."""
