"""Threads for what blocks, so that it doesn't hold up other requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from headrace.http.places import Places
from headrace.ksql.errors import ErrorCode, KsqlError

P = ParamSpec("P")
T = TypeVar("T")


class Work:
    """Runs functions in threads: `await work(function, argument)`. A few wait for a thread; more
    are turned away with KsqlError."""

    def __init__(self, threads: int, waiting: int, name: str) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._places = Places(threads + waiting)

    async def __call__(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if not self._places.take():
            raise KsqlError(
                ErrorCode.TOO_MANY_REQUESTS,
                f"The server is busy: {self._places.most} requests of this kind are under way.",
            )

        try:
            future = self._executor.submit(call, *args, **kwargs)
        except BaseException:
            self._places.leave()
            raise
        future.add_done_callback(lambda done: self._places.leave())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
