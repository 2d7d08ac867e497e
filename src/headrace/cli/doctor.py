"""`headrace doctor`: whether this machine has what Headrace needs, and how to get what it lacks."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from headrace.cli.options import ConfigFile, Servers, Settings, as_client, configuration
from headrace.cli.terminal import note, out
from headrace.core.errors import BrokerError, HeadraceError

if TYPE_CHECKING:
    from headrace.core.config import StreamsConfig
    from headrace.kafka.jars import JarSet

_PACKAGES = {
    "confluent-kafka": "confluent_kafka",
    "lmdb": "lmdb",
    "orjson": "orjson",
    "pyarrow": "pyarrow",
    "sortedcontainers": "sortedcontainers",
}
_BROKER_PORT = 9092
_ENOUGH_BYTES = 2**30
_PATIENCE_S = 5.0


class Finding(NamedTuple):
    """`ok` is None for what could not be looked at."""

    what: str
    ok: bool | None
    fact: str
    remedy: str = ""


def doctor(
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download the Java libraries that are missing.")
    ] = False,
    servers: Servers = None,
    config: ConfigFile = None,
    settings: Settings = None,
) -> None:
    """Look at Python, Java, Spark, Kafka, disk and ports. Ends with code 1 if something is wrong.

    Kafka is asked if its address is given, here or by HEADRACE_BOOTSTRAP_SERVERS.
    """
    failed = 0
    for finding in findings(configuration(config, settings, servers), fetch):
        _show(finding)
        failed += finding.ok is False
    if failed:
        note(f"{failed} to mend")
        raise typer.Exit(1)


def findings(config: StreamsConfig, fetch: bool = False) -> Iterator[Finding]:
    """One after the other, as some take a while."""
    from headrace.kafka import jars

    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("Python", _python),
        ("Python packages", _packages),
        ("Spark", _spark),
        ("Java", _java),
        ("Spark's Kafka source", lambda: _jars("Spark's Kafka source", jars.SPARK_KAFKA, fetch)),
        ("Kafka's broker", lambda: _jars("Kafka's broker", jars.BROKER, fetch)),
        ("Disk for state", lambda: _disk("Disk for state", Path(config["state.dir"]), "state.dir")),
        (
            "Disk for libraries",
            lambda: _disk("Disk for libraries", jars.cache_directory(), "HEADRACE_CACHE"),
        ),
        (f"Port {_BROKER_PORT}", _port),
        ("Kafka", lambda: _kafka(config)),
    ]
    for what, check in checks:
        try:
            yield check()
        except HeadraceError as error:
            fact, _, remedy = str(error).partition("\n")
            yield Finding(what, False, fact, remedy)


def _python() -> Finding:
    return Finding("Python", True, f"{platform.python_version()}, {sys.executable}")


def _packages() -> Finding:
    versions, wrong = [], []
    for package, module in _PACKAGES.items():
        try:
            importlib.import_module(module)
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except ImportError as error:
            wrong.append(f"{package}: {error}")
    if wrong:
        remedy = f"Install them into this Python: `{sys.executable} -m pip install headrace`"
        return Finding("Python packages", False, "; ".join(wrong), remedy)
    return Finding("Python packages", True, ", ".join(versions))


def _spark() -> Finding:
    spec = importlib.util.find_spec("pyspark")  # to import it takes half a second
    install = f"`{sys.executable} -m pip install pyspark==4.0.0`"
    if spec is None or spec.origin is None:
        return Finding("Spark", False, "PySpark isn't installed", install)
    version = importlib.metadata.version("pyspark")
    if not version.startswith("4.0."):
        return Finding("Spark", False, f"PySpark is {version}, but 4.0 is needed", install)
    own = Path(spec.origin).parent
    home = os.environ.get("SPARK_HOME")
    if home and Path(home).resolve() != own.resolve():
        return Finding(
            "Spark",
            False,
            f"SPARK_HOME is {home}, which is not the Spark of PySpark {version}",
            "`unset SPARK_HOME`, if that isn't a Spark 4.0",
        )
    return Finding("Spark", True, f"PySpark {version}")


def _java() -> Finding:
    from headrace.kafka.java import find_java, major_version

    java = find_java()
    return Finding("Java", True, f"{java}, Java {major_version(java)}")


def _jars(what: str, jars: JarSet, fetch: bool) -> Finding:
    from headrace.kafka.jars import cache_directory, is_resolved, resolve

    if is_resolved(jars):
        return Finding(what, True, f"{len(resolve(jars))} jars in {cache_directory() / 'jars'}")
    if fetch:
        return Finding(what, True, f"{len(resolve(jars, note))} jars, just downloaded")
    return Finding(
        what,
        False,
        f"not downloaded yet into {cache_directory() / 'jars'}",
        "They come by themselves when they are first needed, or now: `headrace doctor --fetch`. "
        "That needs Java and the network, once; HEADRACE_CACHE says where they are kept.",
    )


def _disk(what: str, directory: Path, setting: str) -> Finding:
    place = directory.expanduser().absolute()
    existing = next(path for path in (place, *place.parents) if path.exists())
    remedy = f"Set {setting} to a directory with room on a local disk"
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        return Finding(what, False, f"{place} can't be written to", remedy)
    free = shutil.disk_usage(existing).free
    fact = f"{free / 2**30:.1f} GiB free for {place}"
    return Finding(what, free >= _ENOUGH_BYTES, fact, "" if free >= _ENOUGH_BYTES else remedy)


def _port() -> Finding:
    what = f"Port {_BROKER_PORT}"
    address = f"127.0.0.1:{_BROKER_PORT}"
    with socket.socket() as probe:
        probe.settimeout(_PATIENCE_S)
        if probe.connect_ex(("127.0.0.1", _BROKER_PORT)) != 0:
            return Finding(what, True, "free for `headrace broker`")
    try:
        return Finding(what, True, f"a Kafka answers there already ({_cluster_id(address)})")
    except BrokerError:
        return Finding(
            what,
            False,
            "is in use, by something that isn't Kafka",
            "Let `headrace broker` take another: `headrace broker --port 19092`, and give it to "
            f"other commands as -b 127.0.0.1:19092; or end what uses {_BROKER_PORT}.",
        )


def _kafka(config: StreamsConfig) -> Finding:
    servers = config["bootstrap.servers"]
    if servers is None:
        return Finding(
            "Kafka", None, "not asked: give its address with -b, or start one: `headrace broker`"
        )
    from headrace.kafka.admin import Admin
    from headrace.kafka.settings import ClientSettings

    try:
        admin = Admin(ClientSettings(as_client(config)), timeout_s=_PATIENCE_S)
        return Finding("Kafka", True, f"{servers} answers, cluster {admin.cluster_id()}")
    except BrokerError as error:
        return Finding(
            "Kafka",
            False,
            f"{servers}: {error}",
            "Check that the brokers run and can be reached from here, and bootstrap.servers and "
            "security settings.",
        )


def _cluster_id(servers: str) -> str:
    from headrace.core.config import StreamsConfig
    from headrace.kafka.admin import Admin
    from headrace.kafka.settings import ClientSettings

    settings = ClientSettings(as_client(StreamsConfig({"bootstrap.servers": servers})))
    with closing(Admin(settings, timeout_s=_PATIENCE_S)) as admin:
        return admin.cluster_id()


def _show(finding: Finding) -> None:
    mark, style = {True: ("✓", "green"), False: ("✗", "red"), None: ("-", "dim")}[finding.ok]
    out.print(f"[{style}]{mark}[/] [bold]{finding.what}[/]: ", end="")
    out.print(finding.fact, markup=False, soft_wrap=True)
    if finding.remedy:
        for line in finding.remedy.splitlines():
            out.print(f"    {line.strip()}", markup=False, soft_wrap=True)
