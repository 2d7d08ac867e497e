"""Kafka's broker as a program: how to call it, and how to make an empty disk for it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from headrace.core.errors import BrokerError
from headrace.kafka import jars
from headrace.kafka.java import find_java, java_home

_FORMAT = """\
process.roles=broker,controller
node.id=1
listeners=CLIENT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:9093
log.dirs={data}
"""


class BrokerProgram:
    """The broker in the cache of Java libraries, with what makes it start quickly.

    Two things are made once and kept beside its jars: an archive of loaded classes, which saves
    about two of five seconds, and the file with Kafka's feature levels that formatting writes,
    which saves a second JVM for each broker.
    """

    def __init__(self, progress: jars.Progress | None = None) -> None:
        self._java = find_java()
        self._jars = jars.resolve(jars.BROKER, progress)

    def command(self, heap_mb: int, *, archive: bool = False) -> list[str]:
        """The command up to the class to run.

        `archive`: at its exit, which takes 3 s longer, it writes the archive of classes, if there
        is none. `take_archive` is to be called then.
        """
        archiving: list[str] = []
        if self._archive.exists():
            archiving = [f"-XX:SharedArchiveFile={self._archive}", "-Xlog:cds=off"]
        elif archive:
            archiving = [f"-XX:ArchiveClassesAtExit={self._unfinished}", "-Xlog:cds=off"]
        return [
            str(self._java),
            *archiving,
            f"-Xmx{heap_mb}m",
            "-XX:+UseSerialGC",  # One thread less for each core, and a smaller process.
            "-XX:-UsePerfData",
            "-Djava.awt.headless=true",
            *("-cp", os.pathsep.join(map(str, self._jars))),
        ]

    @property
    def has_archive(self) -> bool:
        return self._archive.exists()

    def take_archive(self, *, complete: bool) -> None:
        """Let later calls use the archive that a broker wrote at its exit, if it did."""
        if complete and self._unfinished.exists():
            self._unfinished.replace(self._archive)
        self._unfinished.unlink(missing_ok=True)

    def format(self, data: Path, cluster_id: str, node_id: int) -> None:
        """Make the directory what `kafka-storage format` makes of it."""
        features = self._directory / "bootstrap.checkpoint"
        if not features.exists():
            self._format_once(features)
        data.mkdir(parents=True, exist_ok=True)
        (data / features.name).write_bytes(features.read_bytes())
        # Last, because it is the mark of a directory that has been formatted.
        (data / "meta.properties").write_text(
            f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={new_id()}\n"
        )

    @property
    def _directory(self) -> Path:
        return self._jars[0].parent

    @cached_property
    def _archive(self) -> Path:
        # An archive fits only the Java that wrote it.
        java = java_home(self._java)
        release = java / "release"
        build = release.read_bytes() if release.exists() else b""
        digest = hashlib.sha256(str(java).encode() + build).hexdigest()[:12]
        return self._directory / f"classes-{digest}.jsa"

    @cached_property
    def _unfinished(self) -> Path:
        return self._archive.with_suffix(f".{new_id()}")

    def _format_once(self, features: Path) -> None:
        with tempfile.TemporaryDirectory(dir=self._directory, prefix=".format-") as temporary:
            data = Path(temporary) / "data"
            properties = Path(temporary) / "server.properties"
            properties.write_text(_FORMAT.format(data=data))
            arguments = ["format", "--cluster-id", new_id(), "--config", str(properties)]
            _run([*self.command(128), "kafka.tools.StorageTool", *arguments])
            (data / features.name).replace(features)


def new_id() -> str:
    """A random id in Kafka's notation."""
    # One that began with a dash would look like an option on a command line.
    while (text := urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()
        raise BrokerError(f"Kafka's storage can't be formatted:\n{said}")
