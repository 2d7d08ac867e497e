"""Numbers as Java writes them: ksqlDB's text of a DOUBLE is that of `Double.toString`.

Before Java 19, which ksqlDB is older than, whole numbers of more than 53 bits were written with a
digit more than it takes to tell them apart.
"""

from __future__ import annotations

import math
from decimal import Decimal


def double_text(number: float) -> str:
    """`1.0`, `1.0E10`, `1.0E-5`, `NaN`, `-Infinity`."""
    size = abs(number)
    if 1e-3 <= size < 1e7 or size == 0:
        return repr(number)
    if number != number:
        return "NaN"
    if size == float("inf"):
        return "Infinity" if number > 0 else "-Infinity"
    sign = "-" if number < 0 else ""
    if 2**53 <= size < 2**63:
        return sign + _large_whole_number(int(size))
    _, digits, exponent = Decimal(repr(size)).normalize().as_tuple()
    assert isinstance(exponent, int)  # only infinity and NaN have others
    return sign + _scientific("".join(map(str, digits)), exponent)


def _large_whole_number(number: int) -> str:
    """Digits beyond what the lowest bit of the double is worth are rounded away, and only these."""
    spare_bits = number.bit_length() - 55
    dropped = int(spare_bits * math.log10(2)) if spare_bits > 1 else 0
    unit = 10**dropped
    return _scientific(str((number + unit // 2) // unit), dropped)


def _scientific(digits: str, exponent: int) -> str:
    exponent += len(digits) - 1
    digits = digits.rstrip("0")
    return f"{digits[0]}.{digits[1:] or '0'}E{exponent}"
