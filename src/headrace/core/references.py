"""Objects by name: "module:attribute" in files and on command lines."""

from __future__ import annotations

import importlib
from typing import Any

from headrace.core.errors import ConfigError


def named(reference: str, what: str) -> Any:
    """The object that "module:attribute" names; the attribute may be dotted. ConfigError if there
    is none, for which `what` says who asked."""
    module_name, colon, path = reference.partition(":")
    if not (module_name and colon and path):
        raise ConfigError(f"{what} must be 'module:attribute', but is {reference!r}.")
    try:
        found = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = f"there is no module {error.name!r}"
        raise ConfigError(
            f"{what} is {reference!r}, but {missing}. Is its directory on Python's path?"
        ) from error
    except Exception as error:
        problem = f"importing {module_name} raised {type(error).__name__}: {error}"
        raise ConfigError(f"{what} is {reference!r}, but {problem}") from error
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise ConfigError(
                f"{what} is {reference!r}, but {module_name} has no {path!r}."
            ) from None
    return found
