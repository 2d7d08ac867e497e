"""Decimals that fit their type."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

from headrace.core.errors import SerializationError
from headrace.sql.types import DecimalType

_EXACT = Context(prec=200, rounding=ROUND_HALF_UP)


def fitted(number: Decimal, type: DecimalType) -> Decimal:
    """The number with the digits after the point that the type has, rounded if need be."""
    rounded = number.quantize(Decimal(1).scaleb(-type.scale), context=_EXACT)
    whole_digits = type.precision - type.scale
    if abs(rounded) >= Decimal(10) ** whole_digits:
        raise SerializationError(
            f"Numeric field overflow: A field with precision {type.precision} and scale "
            f"{type.scale} must round to an absolute value less than 10^{whole_digits}. "
            f"Got {number}"
        )
    return rounded
