"""Tells pytest how to show that two lists of records differ.

Kept apart from the package, so that a test run that doesn't use Headrace doesn't import it.
"""

from __future__ import annotations

import sys
from typing import Any


def pytest_assertrepr_compare(op: str, left: Any, right: Any) -> list[str] | None:
    """Called by pytest for a failed comparison; None leaves it to pytest."""
    if op != "==" or "headrace" not in sys.modules:
        return None
    from headrace.testing.diff import explain

    return explain(left, right)
