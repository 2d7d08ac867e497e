"""The Python daemon of Spark's executors, tuned for many small batches.

Spark starts it as `python -m headrace.spark.daemon`. Three things cost PySpark's own worker more
than a small batch takes: importing what a task needs, reading the directory of `pyspark.zip` again
before every task, and a full garbage collection after it.
"""

from __future__ import annotations

import ctypes
import gc
import zipimport
from contextlib import suppress
from importlib import import_module
from types import SimpleNamespace

from pyspark import daemon

_NEEDED = (
    "confluent_kafka",
    "headrace.spark.worker",
    "lmdb",
    "pandas",
    "pyarrow.compute",
    "pyspark.sql.pandas.serializers",
    "pyspark.worker",
)


_M_MMAP_THRESHOLD = -3


def main() -> None:
    for module in _NEEDED:
        import_module(module)
    # Archives on the path don't change while we run.
    zipimport.zipimporter.invalidate_caches = lambda self: None  # type: ignore[method-assign]
    # Python still collects when it sees fit; only the collection after every task goes.
    vars(daemon)["gc"] = SimpleNamespace(collect=lambda: None)
    _return_large_blocks()
    gc.collect()
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]


def _return_large_blocks() -> None:
    """Have glibc give large blocks back when they are freed. By default it keeps more and more of
    them, in each thread: large records would take several times their size."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 256 * 1024)


if __name__ == "__main__":
    main()
