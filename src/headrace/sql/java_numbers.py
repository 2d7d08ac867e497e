"""Numbers as Java writes them: ksqlDB's text of a DOUBLE is that of `Double.toString`."""

from __future__ import annotations

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
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)  # only infinity and NaN have others
    text = "".join(map(str, digits))
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{exponent + len(digits) - 1}"
