"""A SparkSession tuned for small batches, where the user brings none."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from headrace.core.config import StreamsConfig
from headrace.core.errors import ConfigError
from headrace.core.known_keys import is_secret, shown_value
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
        # What was freed outside the heap goes back to the system: in an hour it comes to 40 MB.
        "-XX:TrimNativeHeapInterval=60000",
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
    # What its pages and logs don't show, by name or value: Spark's own, more that Kafka's clients
    # have, and addresses with a user.
    "spark.redaction.regex": (
        "(?i)secret|password|passwd|passphrase|token|access[.]?key|account[.]key|api[.]?key"
        "|jaas|credential|user[.]info|[.]key([.]pem)?$|://[^/?#\\s]*@"
    ),
    # Of each partition that is read; those that are not for a while are closed anyway.
    "spark.kafka.consumer.cache.capacity": "1024",
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
    _start_java({"spark.master": master, **settings})
    builder = SparkSession.builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    # What fails is told by us; Spark would tell it in a hundred lines.
    session.sparkContext.setLogLevel(given.get("spark.log.level", "OFF"))
    return session


def _start_java(settings: Mapping[str, str]) -> None:
    """PySpark makes arguments of all settings, which everybody on the host can see. Secrets are
    given to Spark later: none of them is needed to start Java."""
    if SparkContext._gateway is None:
        public = SparkConf()
        for key, value in settings.items():
            # Java's own options are arguments, whatever is in them.
            if key == _JAVA_OPTIONS or shown_value(key, value) == value:
                public.set(key, value)
        SparkContext._ensure_initialized(conf=public)


def borrow_session(
    config: StreamsConfig, progress: Callable[[str], None] | None = None
) -> SparkSession:
    """As `make_session`, for a while: Spark ends with the last who returns it, as a process has but
    one. A Spark that somebody else has started is left running."""
    with _borrowing:
        context = SparkContext._active_spark_context
        is_ours = context is None or context in _borrowed
        session = make_session(config, progress)
        if is_ours:
            _borrowed[session.sparkContext] = _borrowed.get(session.sparkContext, 0) + 1
        return session


def return_session(session: SparkSession) -> None:
    """Give a borrowed session back."""
    with _borrowing:
        context = session.sparkContext
        left = _borrowed.pop(context, 0) - 1
        if left > 0:
            _borrowed[context] = left
        elif left == 0:
            is_dead = not is_alive(session)
            with suppress(Exception):  # of a Java process that is gone
                session.stop()
            if is_dead:
                _forget_java()


def is_alive(session: SparkSession) -> bool:
    """Whether its Java process is there, and its Spark runs."""
    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except Exception:
        return False


def _forget_java() -> None:
    """PySpark would go on talking to the Java process that it knows."""
    gateway = SparkContext._gateway
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


_borrowing = threading.RLock()
_borrowed: dict[SparkContext, int] = {}


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


def is_local(session: SparkSession) -> bool:
    """Whether Spark runs on the driver's host alone."""
    return str(session.sparkContext.master).startswith("local")


def check_secrets(session: SparkSession, config: StreamsConfig) -> None:
    """Raise ConfigError if the plan would take secrets to a cluster that everybody may ask for it:
    without spark.authenticate, whoever reaches a port of Spark's has what is sent to executors."""
    allowed = config["allow.secrets.without.spark.authenticate"]
    authenticates = session.sparkContext.getConf().get("spark.authenticate", "false") == "true"
    if allowed or authenticates or is_local(session):
        return
    secret = sorted(key for key, value in config.given().items() if value and is_secret(key))
    if secret:
        raise ConfigError(
            f"{', '.join(secret)} would be sent to the executors of "
            f"{session.sparkContext.master}, which doesn't ask who reads along. Set "
            "spark.authenticate to true, and spark.authenticate.secret, on the cluster and here; "
            "or, if nobody else reaches its network, set allow.secrets.without.spark.authenticate."
        )
