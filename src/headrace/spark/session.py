"""A SparkSession tuned for small batches, where the user brings none."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable

from pyspark.sql import SparkSession

from headrace.core.config import StreamsConfig
from headrace.kafka.jars import SPARK_KAFKA, resolve
from headrace.kafka.java import find_java
from headrace.kafka.spark_java import spark_java_home
from headrace.spark.class_archive import java_options

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

_COLLECTOR = "-XX:+UseParallelGC"
"""What G1 adds to all code, to be able to pause for less, costs a third of Spark's CPU time, most
of it while that code is compiled."""
_IS_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")

_JAVA_TUNING = " ".join(
    (
        # Planning a batch is a long tail of code that is warm, but never hot: to compile it at the
        # usual thresholds takes a third of Spark's CPU time, for minutes.
        "-XX:+IgnoreUnrecognizedVMOptions",
        "-XX:Tier4InvocationThreshold=50000",
        "-XX:Tier4MinInvocationThreshold=6000",
        "-XX:Tier4CompileThreshold=150000",
        # Arrow's own bounds checks, beneath writers that make room themselves.
        "-Darrow.enable_unsafe_memory_access=true",
    )
)

MAX_TASK_FAILURES = 8
"""A slot whose worker dies is tried again so often."""

_PROCESS = {
    "spark.python.daemon.module": "headrace.spark.daemon",
    "spark.python.worker.reuse": "true",
    "spark.locality.wait": "0",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
}
"""Fixed when Spark starts."""

_SESSION = {
    # The default starts a process for every file.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"
    ),
    # As many as stay in a core's cache on their way through a worker: a fifth faster than 20,000.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4000",
    # With any other bound Spark adds up the size of all columns for every row.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.sql.streaming.minBatchesToRetain": "2",
}


def make_session(
    config: StreamsConfig, progress: Callable[[str], None] | None = None
) -> SparkSession:
    """Settings `spark.…` of the user's go before ours."""
    given = config.spark_settings()
    os.environ["JAVA_HOME"] = str(spark_java_home(find_java()))
    # Workers must run this very Python.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = given.pop("spark.master", "local[*]")
    if master.startswith("local[") and "," not in master:
        master = f"{master[:-1]},{MAX_TASK_FAILURES}]"
    jars = ",".join(str(path) for path in resolve(SPARK_KAFKA, progress))
    settings = {**_PROCESS, "spark.jars": jars, "spark.app.name": config.application_id, **given}
    settings[_JAVA_OPTIONS] = _java_options(settings.get(_JAVA_OPTIONS, ""), progress)
    if not master.startswith("local"):
        for key in ("spark.driver.host", "spark.driver.bindAddress"):
            if key not in given:
                del settings[key]
    builder = SparkSession.builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    # What fails is told by us; Spark would tell it in a hundred lines.
    session.sparkContext.setLogLevel(given.get("spark.log.level", "OFF"))
    return session


def _java_options(given: str, progress: Callable[[str], None] | None) -> str:
    """The user's go before ours: what comes last counts. Only of collectors there must be one."""
    collector = "" if _IS_COLLECTOR.search(given) else _COLLECTOR
    return " ".join(filter(None, (java_options(progress), _JAVA_TUNING, collector, given)))


def tuned(session: SparkSession, config: StreamsConfig) -> SparkSession:
    """A session of the same Spark with our settings for queries; the given one isn't changed."""
    own = session.newSession()
    given = config.spark_settings()
    for key, value in _SESSION.items():
        own.conf.set(key, given.get(key, value))
    return own
