"""What can be wrong with a call of a function."""

from __future__ import annotations

from headrace.sql.errors import SqlError


class FunctionError(SqlError):
    """A call names no function, or gives it arguments that it doesn't take."""
