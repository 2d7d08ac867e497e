"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine than about the code. In CI the examples are
# the same every time, so that a change is judged by itself.
settings.register_profile(
    "headrace",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("headrace")
