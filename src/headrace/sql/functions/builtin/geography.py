"""GEO_DISTANCE."""

from __future__ import annotations

import math

from headrace.sql.functions.library import Library

library = Library("OTHER")

_KILOMETRES, _MILES = 6371, 3959
"""The radius of the Earth."""
_UNITS = {
    **dict.fromkeys(("", "km", "kilometer", "kilometers", "kilometre", "kilometres"), _KILOMETRES),
    **dict.fromkeys(("mi", "mile", "miles"), _MILES),
}


@library.scalar(
    "geo_distance",
    "(DOUBLE lat1, DOUBLE lon1, DOUBLE lat2, DOUBLE lon2) -> DOUBLE",
    "(DOUBLE lat1, DOUBLE lon1, DOUBLE lat2, DOUBLE lon2, STRING units) -> DOUBLE",
    strict=False,
)
def geo_distance(
    lat1: float | None,
    lon1: float | None,
    lat2: float | None,
    lon2: float | None,
    units: str | None = None,
) -> float:
    """The distance of two points on the Earth, in kilometres or miles."""
    if lat1 is None or lon1 is None or lat2 is None or lon2 is None:
        raise ValueError("a coordinate is NULL")
    if not all(-90 <= latitude <= 90 for latitude in (lat1, lat2)):
        raise ValueError("valid latitude values for GeoDistance function are in the range of -90 "
                         "to 90 decimal degrees")  # fmt: skip
    if not all(-180 <= longitude <= 180 for longitude in (lon1, lon2)):
        raise ValueError("valid longitude values for GeoDistance function are in the range of -180 "
                         "to +180 decimal degrees")  # fmt: skip
    radius = _UNITS.get((units or "").strip().lower())
    if radius is None:
        raise ValueError(f"GeoDistance function units parameter must be one of miles or "
                         f"kilometres, not {units}")  # fmt: skip
    # The order of these steps makes for the last digit, which is ksqlDB's.
    up, across = (lat2 - lat1) / 180 * math.pi, (lon2 - lon1) / 180 * math.pi
    haversine = _square_of_sine(across / 2) * math.cos(math.radians(lat2)) * math.cos(
        math.radians(lat1)
    ) + _square_of_sine(up / 2)
    return radius * 2 * math.asin(math.sqrt(haversine))


def _square_of_sine(angle: float) -> float:
    sine = math.sin(angle)
    return sine * sine
