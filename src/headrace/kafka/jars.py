"""Java libraries: resolved once, then files in a cache.

Ivy, which PySpark brings, resolves them. That takes half a minute and the network, so the result
is kept: after the first time `resolve` only looks at a directory.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from headrace.core.errors import ConfigError
from headrace.kafka.java import find_java

Progress = Callable[[str], None]


class JarSet(NamedTuple):
    """Libraries, each `organisation:module:version`, that are needed together."""

    name: str
    coordinates: tuple[str, ...]
    beside_spark: bool = False
    """They are loaded by Spark: what Spark has already is left out."""


SPARK_KAFKA = JarSet(
    "spark-kafka", ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",), beside_spark=True
)
BROKER = JarSet(
    "broker",
    ("org.apache.kafka:kafka_2.13:4.3.0", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
)
STREAMS = JarSet("streams", ("org.apache.kafka:kafka-streams:4.3.0", "org.slf4j:slf4j-nop:1.7.36"))

_MANIFEST = "manifest.txt"


def resolve(jars: JarSet, progress: Progress | None = None) -> list[Path]:
    """The files of these libraries and of all they need at run time.

    `progress` is given lines for people if it takes long. Processes that want the same at once
    wait for the first of them; a resolution that was cut short leaves nothing that counts.
    Raises ConfigError if they can't be had.
    """
    provided = _spark_modules() if jars.beside_spark else []
    directory = _directory(jars, provided)
    files = _complete(directory)
    if files is None:
        tell = progress or (lambda line: None)
        with _locked(directory.parent, tell):
            files = _complete(directory)  # The process that we waited for may have made it.
            if files is None:
                files = _retrieve(jars, provided, directory, tell)
    return files


def is_resolved(jars: JarSet) -> bool:
    """Whether `resolve` would find everything in the cache."""
    provided = _spark_modules() if jars.beside_spark else []
    return _complete(_directory(jars, provided)) is not None


def cache_directory() -> Path:
    """Where Headrace keeps what can be had again: HEADRACE_CACHE, or ~/.cache/headrace."""
    given = os.environ.get("HEADRACE_CACHE")
    return Path(given).expanduser().absolute() if given else Path.home() / ".cache" / "headrace"


def _directory(jars: JarSet, provided: Sequence[str]) -> Path:
    content = "\n".join([*jars.coordinates, "without", *provided])
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    return cache_directory() / "jars" / f"{jars.name}-{digest}"


def _complete(directory: Path) -> list[Path] | None:
    """The jars, if all are there in full: caches are a place where people and cron jobs tidy."""
    try:
        lines = (directory / _MANIFEST).read_text().splitlines()
        sizes = {name: int(size) for size, name in (line.split(" ", 1) for line in lines)}
        if all((directory / name).stat().st_size == size for name, size in sizes.items()):
            return [directory / name for name in sizes]
    except (OSError, ValueError):
        pass
    return None


@contextmanager
def _locked(directory: Path, tell: Progress) -> Iterator[None]:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / ".lock").open("w")
    except OSError as error:
        raise ConfigError(
            f"Can't keep Java libraries in {directory}: {error}. "
            "Set HEADRACE_CACHE to a directory that can be written."
        ) from error
    with lock:  # Closing the file, also by dying, lets go of the lock.
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another process is resolving Java libraries, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _retrieve(jars: JarSet, provided: Iterable[str], directory: Path, tell: Progress) -> list[Path]:
    """Fill the directory through Ivy. Under the lock."""
    # Ivy's own cache has what an earlier, failed try downloaded. It goes once it has served.
    downloads = directory.parent / ".ivy"
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".unfinished-") as unfinished:
        module = Path(unfinished) / "ivy.xml"
        module.write_text(_ivy_module(jars, provided))
        fresh = Path(unfinished) / "jars"
        fresh.mkdir()
        _run_ivy(jars, module, downloads, fresh, tell)
        files = sorted(fresh.glob("*.jar"))
        if not files:
            raise ConfigError(f"Ivy found no jars for {', '.join(jars.coordinates)}")
        manifest = "".join(f"{file.stat().st_size} {file.name}\n" for file in files)
        (fresh / _MANIFEST).write_text(manifest)
        if directory.exists():
            directory.rename(Path(unfinished) / "spoiled")
        fresh.rename(directory)
    shutil.rmtree(downloads, ignore_errors=True)
    tell(f"{jars.name}: {len(files)} jars in {directory}")
    return [directory / file.name for file in files]


def _run_ivy(jars: JarSet, module: Path, downloads: Path, target: Path, tell: Progress) -> None:
    command: list[str | Path] = [
        *(find_java(), "-cp", _ivy_jar(), "org.apache.ivy.Main"),
        *("-ivy", module, "-cache", downloads, "-confs", "default"),
        # The pom of some libraries calls their jar a bundle.
        *("-types", "jar", "bundle"),
        *("-retrieve", f"{target}/[artifact]-[revision](-[classifier]).[ext]"),
    ]
    tell(f"{jars.name}: resolving {', '.join(jars.coordinates)} (once, about half a minute)")
    lines: list[str] = []
    found = downloaded = 0
    ivy = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert ivy.stdout is not None
        for line in ivy.stdout:
            lines.append(line.rstrip())
            if line.startswith("\tfound "):
                found += 1
                if found % 10 == 0:
                    tell(f"{jars.name}: resolving, {found} libraries so far")
            elif "[SUCCESSFUL ]" in line:
                downloaded += 1
                if downloaded % 10 == 0:
                    tell(f"{jars.name}: downloading, {downloaded} jars so far")
        code = ivy.wait()
    except BaseException:
        ivy.kill()
        raise
    finally:
        ivy.wait()
        assert ivy.stdout is not None
        ivy.stdout.close()
    if code != 0:
        raise ConfigError(_failure(jars, lines))


def _failure(jars: JarSet, lines: Sequence[str]) -> str:
    said = [line.strip() for line in lines if line.strip(" \t:")]
    missing = [line.strip(": ") for line in said if line.startswith(":: ") and "not found" in line]
    errors = [line for line in said if "Exception" in line or "SERVER ERROR" in line]
    reasons = list(dict.fromkeys([*missing, *errors])) or said[-10:]
    return (
        f"Can't resolve the Java libraries {', '.join(jars.coordinates)}:\n  "
        + "\n  ".join(reasons[:10])
        + "\nThe first use needs the network. Check the connection (behind a proxy, set "
        "JAVA_TOOL_OPTIONS to -Dhttps.proxyHost=… -Dhttps.proxyPort=…), or copy the directory "
        f"{cache_directory()} from a machine that has it."
    )


def _ivy_module(jars: JarSet, provided: Iterable[str]) -> str:
    dependencies = ""
    for coordinate in jars.coordinates:
        organisation, module, version = map(quoteattr, coordinate.split(":"))
        # `default` is what is needed to run: neither optional things nor those for tests.
        dependencies += (
            f"<dependency org={organisation} name={module} rev={version}"
            ' conf="default->default"/>\n'
        )
    excludes = "".join(f"<exclude module={quoteattr(module)}/>\n" for module in provided)
    return (
        '<ivy-module version="2.0">\n'
        f'<info organisation="headrace" module={quoteattr(jars.name)}/>\n'
        '<configurations><conf name="default"/></configurations>\n'
        f"<dependencies>\n{dependencies}{excludes}</dependencies>\n"
        "</ivy-module>\n"
    )


def _spark_jars() -> Path:
    # Not by importing pyspark: that takes half a second, and this layer does without it.
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ConfigError("PySpark isn't installed: `pip install pyspark==4.0.0`")
    return Path(spec.origin).parent / "jars"


def _spark_modules() -> list[str]:
    """The names, without version, of the libraries that PySpark has."""
    names = (re.match(r"(.+?)-\d.*\.jar$", file.name) for file in _spark_jars().glob("*.jar"))
    return sorted(name[1] for name in names if name)


def _ivy_jar() -> Path:
    directory = _spark_jars()
    for file in directory.glob("ivy-*.jar"):
        return file
    raise ConfigError(f"PySpark's Ivy isn't in {directory}: install pyspark anew")
