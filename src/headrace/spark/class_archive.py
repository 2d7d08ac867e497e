"""Spark's classes as Java has read and checked them once: Spark starts in little more than half the
time with them (class data sharing)."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession

from headrace.kafka.jars import cache_directory
from headrace.kafka.java import find_java, java_home
from headrace.kafka.spark_java import spark_java_home

log = logging.getLogger("headrace")

_TIMEOUT_S = 180.0
_SOME_BATCHES_S = 6
_QUIET = "-Xlog:cds*=off -Xlog:class+path=off"


def java_options(progress: Callable[[str], None] | None = None) -> str:
    """What to start Java with. The archive is made if there is none for this Java and this Spark;
    without one, Spark starts all the same."""
    archive = _archive()
    try:
        if not archive.exists():
            _make(archive, progress)
        is_usable = archive.stat().st_size > 0
    except OSError as error:
        log.debug("No class archive for Spark: %s", error)
        is_usable = False
    return _options("SharedArchiveFile", archive) if is_usable else ""


def _options(option: str, archive: Path) -> str:
    """Quoted as in a shell, which is how Spark takes options apart: a path may have a space."""
    return f"{shlex.quote(f'-XX:{option}={archive}')} {_QUIET}"


def _archive() -> Path:
    home = java_home(find_java())
    release = home / "release"
    java = release.read_text() if release.exists() else str(home)
    # Java takes an archive only with the very class path that it was made with.
    digest = hashlib.sha256(f"{java}\n{pyspark.__version__}\n{_spark_home()}".encode()).hexdigest()
    return cache_directory() / "spark" / f"{digest[:12]}.jsa"


def _spark_home() -> str:
    return os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)


def _make(archive: Path, progress: Callable[[str], None] | None) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with (archive.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if archive.exists():
            return
        if progress is not None:
            progress("preparing Spark to start in half the time (once, about half a minute)")
        _remove_orphans(archive.parent)
        with tempfile.TemporaryDirectory(dir=archive.parent) as temporary:
            made = Path(temporary) / archive.name
            command = [sys.executable, "-m", __name__, str(made)]
            try:
                subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)
            except subprocess.TimeoutExpired:
                log.debug("Java took too long to make an archive of Spark's classes")
            # An empty one, if this Java can't: not to be tried again at every start.
            made.touch()
            archive.with_suffix(".home").write_text(_spark_home())
            made.rename(archive)


def _remove_orphans(directory: Path) -> None:
    """Archives, which are large, of installations that are gone."""
    for home in directory.glob("*.home"):
        if not Path(home.read_text()).exists():
            home.with_suffix(".jsa").unlink(missing_ok=True)
            home.unlink()


def _load_and_leave(archive: Path) -> None:
    """Have Spark do a little of all that an application has it do, and Java note the classes."""
    os.environ["JAVA_HOME"] = str(spark_java_home(find_java()))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.extraJavaOptions", _options("ArchiveClassesAtExit", archive))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    rows = session.readStream.format("rate").load().selectExpr("value", "value % 2 AS slot")
    query = (
        rows.repartition(2, "slot")
        .mapInArrow(_same, "value LONG, slot LONG")
        .writeStream.foreachBatch(_collect)
        .start()
    )
    query.awaitTermination(_SOME_BATCHES_S)
    query.stop()
    gateway: Any = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_TIMEOUT_S)


def _same(batches: Iterable[Any]) -> Iterable[Any]:
    return batches


def _collect(batch: DataFrame, number: int) -> None:
    batch.collect()


if __name__ == "__main__":
    _load_and_leave(Path(sys.argv[1]))
