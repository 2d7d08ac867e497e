"""Key stores: keys with self-signed certificates, made by Java's keytool."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from headrace.core.errors import BrokerError
from headrace.kafka.java import find_java, java_home

_PASSWORD = "KEY_STORE_PASSWORD"  # noqa: S105, the name of a variable
"""Where keytool finds it: everybody can see a program's arguments."""


def make_key_store(
    directory: Path, alias: str, password: str, *extensions: str, name: str = "127.0.0.1"
) -> Path:
    """`<alias>.p12` in the directory, and its certificate in `<alias>.pem`, made if need be.

    `name` is whom the certificate is for.
    """
    store, certificate = directory / f"{alias}.p12", directory / f"{alias}.pem"
    if certificate.exists():
        return store
    unfinished = directory / f"{alias}.pem.unfinished"
    store.unlink(missing_ok=True)
    access = ["-keystore", str(store), "-storetype", "PKCS12", "-alias", alias]
    access += ["-storepass:env", _PASSWORD]
    about = ["-dname", f"CN={name}", *(part for each in extensions for part in ("-ext", each))]
    key = ["-keyalg", "EC", "-groupname", "secp256r1", "-validity", "3650"]
    _run_keytool(password, "-genkeypair", *access, *key, *about)
    _run_keytool(password, "-exportcert", *access, "-rfc", "-file", str(unfinished))
    unfinished.replace(certificate)
    return store


def trust(directory: Path, name: str, aliases: Iterable[str]) -> Path:
    """`<name>.pem` with the certificates of several key stores."""
    path = directory / f"{name}.pem"
    path.write_text("".join((directory / f"{alias}.pem").read_text() for alias in aliases))
    return path


def _run_keytool(password: str, *arguments: str) -> None:
    keytool = java_home(find_java()) / "bin" / "keytool"
    environment = {**os.environ, _PASSWORD: password}
    command = [str(keytool), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise BrokerError(f"{keytool} can't make a certificate: {done.stdout}")
