"""The locks agree with what pyproject.toml asks for, for every Python that is supported."""

from __future__ import annotations

import tomllib
from importlib import metadata
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply.locks import ROOT, Package, packages

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
DEPENDENCIES: list[str] = PROJECT["project"]["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
GROUPS: dict[str, list[str]] = PROJECT["dependency-groups"]
WANTED = {
    "runtime": DEPENDENCIES,
    "dev": [*DEPENDENCIES, *GROUPS["dev"]],
    "java": [*DEPENDENCIES, *EXTRAS["java"]],
    "build": [*GROUPS["build"], *PROJECT["build-system"]["requires"]],
    "audit": GROUPS["audit"],
}
PYTHONS = [
    classifier.rpartition(" ")[2]
    for classifier in PROJECT["project"]["classifiers"]
    if classifier.startswith("Programming Language :: Python :: 3.")
]


def environment(python: str) -> dict[str, str]:
    given = {key: str(value) for key, value in default_environment().items()}
    return {**given, "python_version": python, "python_full_version": f"{python}.0", "extra": ""}


def installed_with(lock: str, python: str) -> dict[str, Package]:
    """What this Python installs."""
    found: dict[str, Package] = {}
    for package in packages(lock):
        if package.marker is None or package.marker.evaluate(environment(python)):
            assert package.name not in found, f"{package.name} is locked twice for {python}"
            found[package.name] = package
    return found


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", WANTED)
def test_what_is_asked_for_is_locked_to_a_version_that_fits(lock: str, python: str) -> None:
    found = installed_with(lock, python)
    for requirement in map(Requirement, WANTED[lock]):
        if requirement.marker is None or requirement.marker.evaluate(environment(python)):
            name = canonicalize_name(requirement.name)
            assert name in found, f"{requirement} is not in {lock}.lock: `make lock`"
            assert requirement.specifier.contains(found[name].version), requirement


@pytest.mark.parametrize("lock", WANTED)
def test_every_package_has_hashes(lock: str) -> None:
    assert all(package.sha256 for package in packages(lock))


@pytest.mark.parametrize("python", PYTHONS)
def test_the_locks_fit_together(python: str) -> None:
    """They are installed into one environment."""
    versions: dict[str, str] = {}
    for lock in WANTED:
        for package in installed_with(lock, python).values():
            assert versions.setdefault(package.name, package.version) == package.version, lock


def test_the_tests_run_with_what_is_locked() -> None:
    """And with nothing that is needed but not locked."""
    python = default_environment()["python_version"]
    found = installed_with("dev", python) | installed_with("build", python)
    for package in installed_with("dev", python).values():
        installed = metadata.distribution(package.name)
        assert installed.version == package.version, f"{package.name}: `make setup`"
        for requirement in map(Requirement, installed.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate(environment(python)):
                assert canonicalize_name(requirement.name) in found, f"{package.name} needs it"
