"""The event loop of a server."""

from __future__ import annotations

import asyncio


def event_loop() -> asyncio.AbstractEventLoop:
    """A new one: the fastest that there is."""
    try:
        import uvloop
    except ImportError:  # there is none for Windows, and for other Pythons
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
