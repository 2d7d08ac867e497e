"""The bill of materials, a CycloneDX document: what Headrace is installed with, and its Java
libraries. It is the same, byte by byte, as long as the locks are."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headrace.kafka.jar_manifest import Jar, read_lock
from supply.locks import ROOT, Package, packages
from supply.spark_jars import spark_jars


def bill() -> dict[str, Any]:
    """Packages of the runtime, Java libraries of the lock, and those within PySpark."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    jars = {jar for _, jar in read_lock()} | set(spark_jars())
    components = [*map(_package, packages("runtime")), *map(_jar, _known(jars))]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "headrace",
                "name": project["name"],
                "version": project["version"],
                "purl": f"pkg:pypi/{project['name']}@{project['version']}",
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": sorted(components, key=lambda component: str(component["bom-ref"])),
    }


def _known(jars: Iterable[Jar]) -> Iterator[Jar]:
    return (jar for jar in jars if jar.coordinate != "unknown")


def _package(package: Package) -> dict[str, Any]:
    purl = f"pkg:pypi/{package.name}@{package.version}"
    component = _component(package.name, package.version, purl, package.sha256)
    return {**component, "bom-ref": purl}


def _jar(jar: Jar) -> dict[str, Any]:
    organisation, module, version = jar.coordinate.split(":")
    component = _component(module, version, maven_url(jar), [jar.sha256])
    # One library may be there in two builds.
    return {**component, "group": organisation, "bom-ref": f"{maven_url(jar)}#{jar.file}"}


def maven_url(jar: Jar) -> str:
    organisation, module, version = jar.coordinate.split(":")
    return f"pkg:maven/{organisation}/{module}@{version}"


def _component(name: str, version: str, purl: str, sha256: Iterable[str]) -> dict[str, Any]:
    hashes = [{"alg": "SHA-256", "content": content} for content in sha256]
    return {"type": "library", "name": name, "version": version, "purl": purl, "hashes": hashes}


def main(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill(), indent=1, sort_keys=True) + "\n")
    print(f"{path}: {len(bill()['components'])} components")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
