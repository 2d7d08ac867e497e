"""Where settings come from: keywords, mappings, variables of the environment, files."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from headrace.core import client_settings, settings
from headrace.core.client_settings import (
    CLIENT_PREFIXES,
    CLIENT_SETTINGS,
    SHARED,
    TOPIC_SETTINGS,
)
from headrace.core.errors import ConfigError

log = logging.getLogger("headrace.config")

_VARIABLES = "HEADRACE_"
_NO_SETTINGS = {"HEADRACE_CACHE"}
"""Variables that mean something else."""


class Given(NamedTuple):
    """A setting as it was found."""

    key: str
    value: Any
    origin: str


def merged(
    mapping: Mapping[str, Any] | None,
    file: str | os.PathLike[str] | None,
    environ: Mapping[str, str] | None,
    keywords: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings of all sources, and their origins. Later ones in this list win: file,
    environment, mapping, keywords."""
    if not isinstance(mapping, Mapping | None):
        raise no_mapping(mapping)
    passed = mapping or {}
    found = [
        *(from_file(Path(file)) if file is not None else ()),
        *from_environment(os.environ if environ is None else environ),
        *(Given(key, value, "the settings that were passed") for key, value in passed.items()),
        *(
            Given(key.replace("_", "."), value, f"the keyword {key}")
            for key, value in keywords.items()
        ),
    ]
    renamed = [given._replace(key=settings.RENAMED.get(given.key, given.key)) for given in found]
    return (
        {given.key: given.value for given in renamed},
        {given.key: given.origin for given in renamed},
    )


def no_mapping(given: object) -> ConfigError:
    """Doesn't show what is in it: that may be secrets."""
    shown = repr(given) if isinstance(given, str) else type(given).__name__
    return ConfigError(f"Settings are a dict of names and values, not {shown}")


def from_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    """The settings among variables: HEADRACE_ and the key, in capitals with _ for every dot."""
    for variable, value in environ.items():
        if not variable.startswith(_VARIABLES) or variable in _NO_SETTINGS:
            continue
        key = _key_of(variable.removeprefix(_VARIABLES))
        if key is not None:
            yield Given(key, value, f"the variable {variable}")
        else:
            # No error: Kubernetes sets variables such as HEADRACE_PORT for a service of that name.
            log.warning("The variable %s is no setting of Headrace: it is ignored.", variable)


def _key_of(name: str) -> str | None:
    for prefix, keys in _prefixed_keys():
        start = _variable_name(f"{prefix}.") if prefix else ""
        if name.startswith(start):
            rest = name[len(start) :]
            for key in keys:
                if _variable_name(key) == rest:
                    return f"{prefix}.{key}" if prefix else key
    if name.startswith("SPARK_"):
        return name.lower().replace("_", ".")
    return None


def _prefixed_keys() -> Iterator[tuple[str, tuple[str, ...]]]:
    clients = (*CLIENT_SETTINGS, *client_settings.NO_EFFECT, *client_settings.REFUSED)
    yield "", (*settings.SETTINGS, *settings.RENAMED, *settings.NO_EFFECT, *clients)
    for prefix in CLIENT_PREFIXES:
        yield prefix, (*clients, *SHARED)
    yield "topic", TOPIC_SETTINGS


def _variable_name(key: str) -> str:
    return key.upper().replace(".", "_")


def from_file(path: Path) -> Iterator[Given]:
    """The settings of a properties or TOML file."""
    if path.suffix not in (".properties", ".toml"):
        raise ConfigError(f"{path} can't be read: settings are in .properties or .toml files.")
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}") from error
    if path.suffix == ".toml":
        return _from_toml(text, path)
    return _from_properties(text, path)


def _from_toml(text: str, path: Path) -> Iterator[Given]:
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} isn't TOML: {error}") from error
    for key, value in _flat(document):
        yield Given(key, value, str(path))


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`application.id = …`, `[application] id = …` and `"application.id" = …` are the same."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _from_properties(text: str, path: Path) -> Iterator[Given]:
    for number, line in _logical_lines(text):
        name, value = _PROPERTY.fullmatch(line).groups()  # type: ignore[union-attr]
        yield Given(_unescaped(name), _unescaped(value), f"{path}, line {number}")


_PROPERTY = re.compile(r"((?:[^\\=:\s]|\\.)*)[ \t\f]*(?:[=:][ \t\f]*)?(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with the number of their first; those that end with a backslash go on in the next."""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        line = line.lstrip()
        if not line or line[0] in "#!":
            continue
        while (len(line) - len(line.rstrip("\\"))) % 2 == 1:
            line = line[:-1] + next(lines, (0, ""))[1].lstrip()
        yield number, line


def _unescaped(text: str) -> str:
    def replaced(escape: re.Match[str]) -> str:
        code = escape[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _CONTROLS.get(code, code)

    return _ESCAPE.sub(replaced, text)
