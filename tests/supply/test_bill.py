"""The bill of materials has everything, and is a CycloneDX document."""

from __future__ import annotations

import json
from collections import Counter

from headrace.kafka.jar_manifest import read_lock
from supply.bill import bill
from supply.locks import packages
from supply.spark_jars import spark_jars


def test_everything_is_in_it_once() -> None:
    made = bill()
    found = Counter(component["bom-ref"] for component in made["components"])
    assert set(found.values()) == {1}
    purls = {component["purl"] for component in made["components"]}
    assert {f"pkg:pypi/{each.name}@{each.version}" for each in packages("runtime")} <= purls
    assert "pkg:pypi/pytest" not in "".join(purls)
    for _, jar in read_lock():
        organisation, module, version = jar.coordinate.split(":")
        assert f"pkg:maven/{organisation}/{module}@{version}" in purls
    assert any(purl.startswith("pkg:maven/org.apache.spark/spark-core_2.13@") for purl in purls)


def test_it_has_the_shape_of_cyclonedx() -> None:
    made = bill()
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert made["metadata"]["component"]["name"] == "headrace"
    for component in made["components"]:
        assert component["type"] == "library"
        assert all(each["alg"] == "SHA-256" for each in component["hashes"])
        assert component["hashes"]


def test_it_is_the_same_every_time() -> None:
    assert json.dumps(bill()) == json.dumps(bill())


def test_every_library_within_spark_is_known() -> None:
    assert [jar.file for jar in spark_jars() if jar.coordinate == "unknown"] == []
