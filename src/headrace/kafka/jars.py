"""Java libraries: resolved once, then files in a cache.

Ivy, which PySpark brings, resolves them. That takes half a minute and the network, so the result
is kept: after the first time `resolve` only looks at a directory. Each file is checked by its
SHA-256 before it is used, whenever it is.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import logging
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
from headrace.kafka.jar_manifest import Jar, locked_jars, read_manifest, write_manifest
from headrace.kafka.java import find_java

log = logging.getLogger("headrace")

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

MANIFEST = "manifest.txt"
_FOUND = re.compile(r"\tfound (\S+)#(\S+);(\S+) in ")


def resolve(jars: JarSet, progress: Progress | None = None) -> list[Path]:
    """The files of these libraries and of all they need at run time.

    `progress` is given lines for people if it takes long. Processes that want the same at once
    wait for the first of them; a resolution that was cut short leaves nothing that counts. What is
    damaged is fetched again. Raises ConfigError if they can't be had, or are others than the
    locked ones.
    """
    provided = _spark_modules() if jars.beside_spark else []
    directory = _directory(jars, provided)
    files = _complete(jars, directory)
    if files is None:
        tell = progress or (lambda line: None)
        with _locked(directory.parent, tell):
            files = _complete(jars, directory)  # The process that we waited for may have made it.
            if files is None:
                damaged = _damaged(jars, directory, _listed(directory))
                if damaged:
                    line = f"{jars.name}: damaged, to be fetched again: {', '.join(damaged)}"
                    log.warning("%s (in %s)", line, directory)
                    tell(line)
                files = _retrieve(jars, provided, directory, tell)
    return files


def is_resolved(jars: JarSet) -> bool:
    """Whether `resolve` would find everything in the cache."""
    provided = _spark_modules() if jars.beside_spark else []
    return _complete(jars, _directory(jars, provided)) is not None


def cache_directory() -> Path:
    """Where Headrace keeps what can be had again: HEADRACE_CACHE, or ~/.cache/headrace."""
    given = os.environ.get("HEADRACE_CACHE")
    return Path(given).expanduser().absolute() if given else Path.home() / ".cache" / "headrace"


def _directory(jars: JarSet, provided: Sequence[str]) -> Path:
    content = "\n".join(["sha256", *jars.coordinates, "without", *provided])
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    return cache_directory() / "jars" / f"{jars.name}-{digest}"


def _complete(jars: JarSet, directory: Path) -> list[Path] | None:
    """The jars, if all are there and as they should be: caches are a place where people and cron
    jobs tidy, and disks forget."""
    listed = _listed(directory)
    if not listed or _damaged(jars, directory, listed):
        return None
    return [directory / jar.file for jar in listed]


def _listed(directory: Path) -> list[Jar]:
    try:
        return read_manifest((directory / MANIFEST).read_text().splitlines())
    except (OSError, ValueError):
        return []


def _damaged(jars: JarSet, directory: Path, listed: Sequence[Jar]) -> list[str]:
    return _unlike_the_lock(jars, listed) or [
        jar.file for jar in listed if not _is_sound(directory / jar.file, jar)
    ]


def _is_sound(path: Path, jar: Jar) -> bool:
    try:
        return Jar.of(path, ()).sha256 == jar.sha256
    except OSError:
        return False


def _unlike_the_lock(jars: JarSet, listed: Iterable[Jar]) -> list[str]:
    """Files that are not the locked ones. Some of those may be missing, as Spark has them."""
    locked = locked_jars(jars.name)
    if not locked:
        return []
    return [
        jar.file
        for jar in listed
        if jar.file not in locked or jar.sha256 != locked[jar.file].sha256
    ]


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
        coordinates = _run_ivy(jars, module, downloads, fresh, tell)
        files = [Jar.of(path, coordinates) for path in sorted(fresh.glob("*.jar"))]
        if not files:
            raise ConfigError(f"Ivy found no jars for {', '.join(jars.coordinates)}")
        if wrong := _unlike_the_lock(jars, files):
            shutil.rmtree(downloads, ignore_errors=True)
            raise ConfigError(
                f"These Java libraries are not the ones that Headrace was made for: "
                f"{', '.join(wrong)}. Their SHA-256 is another than the locked one. Either the "
                "download was damaged, then try again; or the repository they come from (a mirror, "
                "a proxy) has changed them, then don't use it."
            )
        (fresh / MANIFEST).write_text(write_manifest(files))
        if directory.exists():
            directory.rename(Path(unfinished) / "spoiled")
        fresh.rename(directory)
    shutil.rmtree(downloads, ignore_errors=True)
    tell(f"{jars.name}: {len(files)} jars in {directory}")
    return [directory / jar.file for jar in files]


def _run_ivy(
    jars: JarSet, module: Path, downloads: Path, target: Path, tell: Progress
) -> list[str]:
    """Gives the coordinates of all that was found."""
    command: list[str | Path] = [
        *(find_java(), "-cp", _ivy_jar(), "org.apache.ivy.Main"),
        *("-ivy", module, "-cache", downloads, "-confs", "default"),
        # The pom of some libraries calls their jar a bundle.
        *("-types", "jar", "bundle"),
        *("-retrieve", f"{target}/[artifact]-[revision](-[classifier]).[ext]"),
    ]
    tell(f"{jars.name}: resolving {', '.join(jars.coordinates)} (once, about half a minute)")
    lines: list[str] = []
    found: list[str] = []
    downloaded = 0
    ivy = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert ivy.stdout is not None
        for line in ivy.stdout:
            lines.append(line.rstrip())
            if named := _FOUND.match(line):
                found.append(":".join(named.groups()))
                if len(found) % 10 == 0:
                    tell(f"{jars.name}: resolving, {len(found)} libraries so far")
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
    return found


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
