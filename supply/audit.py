"""The audit: are there known vulnerabilities in what Headrace is installed with?

pip-audit is asked about Python packages, the database OSV about Java libraries. Exits with 0 if
nothing is known, 1 if something is, and 3 if not all could be asked: then nothing is known about
the rest, which isn't the same as nothing being wrong with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from headrace.kafka.jar_manifest import Jar, read_lock
from supply.bill import maven_url
from supply.locks import LOCKS
from supply.spark_jars import spark_jars

OSV = "https://api.osv.dev/v1/querybatch"
_AT_ONCE = 500
_TIMEOUT_S = 60.0

VULNERABLE = 1
NOT_ASKED = 3


@dataclass
class Findings:
    """What is known: lines for people."""

    vulnerable: list[str] = field(default_factory=list)
    not_asked: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return VULNERABLE if self.vulnerable else NOT_ASKED if self.not_asked else 0

    def show(self) -> None:
        for line in self.vulnerable:
            print(f"VULNERABLE  {line}")
        for line in self.not_asked:
            print(f"NOT ASKED   {line}")
        if not self.vulnerable:
            known = "Nothing is known against what could be asked about"
            print(f"{known}, but not all could." if self.not_asked else "Nothing is known.")


def python_findings(command: Sequence[str]) -> Findings:
    """What pip-audit, called so, says; it must answer in JSON."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        return Findings(not_asked=[f"all Python packages: pip-audit says: {last}"])
    return _of_packages(answer["dependencies"])


def _of_packages(dependencies: Iterable[dict[str, Any]]) -> Findings:
    findings = Findings()
    skipped: list[str] = []
    for each in dependencies:
        if "skip_reason" in each:
            skipped.append(each["name"])
        for known in each.get("vulns", ()):
            fixed = ", ".join(known["fix_versions"]) or "no version yet"
            findings.vulnerable.append(
                f"{each['name']} {each['version']}: {known['id']}, fixed in {fixed}"
            )
    if skipped:
        findings.not_asked.append(
            f"{len(skipped)} Python packages, which pip-audit could not find: {', '.join(skipped)}"
        )
    return findings


def java_findings(jars: Iterable[Jar], url: str = OSV) -> Findings:
    """What OSV says of these libraries."""
    jars = sorted(set(jars), key=lambda jar: jar.file)
    known = [jar for jar in jars if jar.coordinate != "unknown"]
    nameless = sorted({jar.file for jar in jars} - {jar.file for jar in known})
    findings = Findings()
    if nameless:
        findings.not_asked.append(f"jars that don't say what they are: {', '.join(nameless)}")
    for start in range(0, len(known), _AT_ONCE):
        part = known[start : start + _AT_ONCE]
        queries = [{"package": {"purl": maven_url(jar)}} for jar in part]
        try:
            answer = httpx.post(url, json={"queries": queries}, timeout=_TIMEOUT_S)
            results = answer.raise_for_status().json()["results"]
        except (httpx.HTTPError, ValueError, KeyError) as error:
            findings.not_asked.append(f"{len(part)} Java libraries: {url} can't be asked: {error}")
            continue
        for jar, result in zip(part, results, strict=True):
            if identifiers := [each["id"] for each in result.get("vulns", ())]:
                findings.vulnerable.append(f"{jar.coordinate}: {', '.join(sorted(identifiers))}")
    return findings


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    lock = ["--requirement", str(LOCKS / "dev.lock"), "--require-hashes", "--disable-pip"]
    python = python_findings([*command, *lock])
    java = java_findings([*(jar for _, jar in read_lock()), *spark_jars()])
    both = Findings(python.vulnerable + java.vulnerable, python.not_asked + java.not_asked)
    both.show()
    return both.exit_code


if __name__ == "__main__":
    sys.exit(main())
