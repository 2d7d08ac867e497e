"""The Python daemon of Spark's executors, tuned for many small batches.

Spark starts it as `python -m headrace.spark.daemon`. Three things cost PySpark's own worker more
than a small batch takes: importing what a task needs, reading the directory of `pyspark.zip` again
before every task, and a full garbage collection after it.
"""

from __future__ import annotations

import gc
import zipimport
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


def main() -> None:
    for module in _NEEDED:
        import_module(module)
    # Archives on the path don't change while we run.
    zipimport.zipimporter.invalidate_caches = lambda self: None  # type: ignore[method-assign]
    # Python still collects when it sees fit; only the collection after every task goes.
    vars(daemon)["gc"] = SimpleNamespace(collect=lambda: None)
    gc.collect()
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
