"""The lock of Java libraries that Headrace brings."""

from __future__ import annotations

import re

import pytest

from headrace.kafka.jar_manifest import locked_jars, read_lock
from headrace.kafka.jars import JarSet
from supply.jars import SETS


@pytest.mark.parametrize("jars", SETS, ids=lambda jars: jars.name)
def test_every_set_is_locked_with_what_it_asks_for(jars: JarSet) -> None:
    locked = locked_jars(jars.name)
    assert set(jars.coordinates) <= {jar.coordinate for jar in locked.values()}, "scripts/lock"


def test_a_file_has_its_digest_and_its_origin() -> None:
    for section, jar in read_lock():
        assert section in {jars.name for jars in SETS}
        assert re.fullmatch("[0-9a-f]{64}", jar.sha256)
        organisation, module, version = jar.coordinate.split(":")
        assert organisation
        assert jar.file.startswith(f"{module}-{version}")
