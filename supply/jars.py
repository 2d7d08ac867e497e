"""The lock of Java libraries: `python -m supply.jars` writes it anew."""

from __future__ import annotations

import os
import tempfile

from headrace.kafka.jar_manifest import LOCK
from headrace.kafka.jars import BROKER, MANIFEST, SPARK_KAFKA, STREAMS, JarSet, resolve

SETS = (SPARK_KAFKA, BROKER, STREAMS)

_HEADER = """\
# Written by scripts/lock: the files of each set of Java libraries. Others are not used.
"""


def main() -> None:
    LOCK.write_text(_HEADER + "".join(f"\n[{each.name}]\n{_section(each)}" for each in SETS))


def _section(jars: JarSet) -> str:
    # Under another name, the set has no lock to obey.
    with tempfile.TemporaryDirectory() as cache:
        os.environ["HEADRACE_CACHE"] = cache
        first, *_ = resolve(jars._replace(name=f"{jars.name}-unlocked"), print)
        return (first.parent / MANIFEST).read_text()


if __name__ == "__main__":
    main()
