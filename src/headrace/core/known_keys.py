"""Which keys a configuration may have beside `SETTINGS`: of clients, of topics and of Spark.

Only looked at for keys that are not in `SETTINGS`, so that most programs don't load these tables.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from headrace.core import client_settings, settings
from headrace.core.client_settings import (
    CLIENT_PREFIXES,
    CLIENT_SETTINGS,
    CLIENTS,
    SHARED,
    TOPIC_SETTINGS,
)
from headrace.core.errors import ConfigError
from headrace.core.masking import MASK, is_secret_name, masked


def check(key: str) -> None:
    """Raise ConfigError, with a suggestion, if there is no such key."""
    if not isinstance(key, str):
        raise ConfigError(f"The names of settings are text, not {key!r}")
    if key.startswith(("spark.", "client.tag.")) or key in settings.NO_EFFECT:
        return
    prefix, name = split(key)
    if prefix == "topic":
        if name not in TOPIC_SETTINGS:
            raise _unknown(key, [f"topic.{known}" for known in TOPIC_SETTINGS])
        return
    if name in client_settings.REFUSED:
        raise ConfigError(f"{key} can't be set. {client_settings.REFUSED[name]}")
    if name in CLIENT_SETTINGS:
        _check_client(key, prefix, name)
    elif name not in client_settings.NO_EFFECT and not (prefix and name in SHARED):
        raise _unknown(key, [f"{prefix}.{name}" if prefix else name for name in _names(prefix)])


def split(key: str) -> tuple[str, str]:
    """The prefix of a key, "consumer" or "topic" for example, and the rest. "" if it has none."""
    for prefix in (*CLIENT_PREFIXES, "topic"):
        if key.startswith(f"{prefix}."):
            return prefix, key[len(prefix) + 1 :]
    return "", key


def why_no_effect(key: str) -> str | None:
    """Why a key that is accepted does nothing; None if it does something."""
    if key in settings.SETTINGS:
        return None
    if key.startswith("client.tag."):
        return settings.NO_EFFECT["rack.aware.assignment.tags"]
    return settings.NO_EFFECT.get(key) or client_settings.NO_EFFECT.get(split(key)[1])


def is_secret(key: str) -> bool:
    """Whether the value may not be shown."""
    known = settings.SETTINGS.get(key)
    return known.secret if known is not None else is_secret_name(key)


def shown_value(key: str, value: object, mask: str = MASK) -> str:
    """The value as text for people."""
    return mask if is_secret(key) else masked(str(value))


def _check_client(key: str, prefix: str, name: str) -> None:
    known_to = [CLIENTS[letter] for letter in CLIENT_SETTINGS[name].clients]
    if prefix and prefix.rpartition(".")[2] not in known_to:
        raise ConfigError(
            f"Unknown setting {key!r}: {name} is a setting of the {' and the '.join(known_to)}."
        )


def _names(prefix: str) -> Iterable[str]:
    if prefix:
        return (*CLIENT_SETTINGS, *SHARED)
    return (*settings.SETTINGS, *CLIENT_SETTINGS, *settings.RENAMED, *settings.NO_EFFECT)


def _unknown(key: str, known: Iterable[str]) -> ConfigError:
    close = difflib.get_close_matches(key, known, n=1)
    suggestion = f" Did you mean {close[0]!r}?" if close else ""
    return ConfigError(f"Unknown setting {key!r}.{suggestion}")
