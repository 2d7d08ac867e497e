"""A plan as bytes that any worker can read, with the user's own code in it."""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import cloudpickle

from headrace.core.errors import TopologyError
from headrace.core.own_code import is_own_code
from headrace.engine.plan import Plan

_LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib")

_registering = threading.Lock()
"""Cloudpickle has one list of modules for the process, which may start several applications."""


def shipment(plan: Plan) -> bytes:
    """Functions and classes of the user's modules are sent themselves, not only their names: a
    worker need not have the modules. Installed packages are taken to be installed there too."""
    with _registering, _by_value(_users_modules()):
        try:
            return bytes(cloudpickle.dumps(plan))  # type: ignore[no-untyped-call]
        except Exception as error:
            raise TopologyError(
                f"The topology can't be sent to Spark's workers: {error}. Functions and processors "
                "must not hold on to what can't be pickled, such as open connections, locks or "
                "generators: make those in init(), or when they are first used."
            ) from error


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    pickler: Any = cloudpickle
    for module in modules:
        pickler.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            pickler.unregister_pickle_by_value(module)


def _users_modules() -> list[ModuleType]:
    """What was imported from elsewhere than where packages are installed."""
    # Not all of sysconfig's paths: `data` is the whole of /usr for a system's Python.
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in _LIBRARIES}
    return [
        module
        for module in list(sys.modules.values())
        if isinstance(file := getattr(module, "__file__", None), str)
        and module.__name__ != "__main__"
        and not is_own_code(file)
        and not any(path in installed for path in Path(file).resolve().parents)
    ]
