"""The configuration of an application: all settings, checked, with their defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headrace.core.errors import ConfigError
from headrace.core.setting_checks import OPTIMIZATIONS
from headrace.core.settings import RENAMED, SETTINGS

if TYPE_CHECKING:
    from os import PathLike


class StreamsConfig(Mapping[str, Any]):
    """All settings with their defaults, and the settings of clients that were given.

    An unknown or wrong one raises ConfigError, and says what to do. `origins` says where settings
    come from, for such errors. As text, it never shows a secret.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        origins: Mapping[str, str] | None = None,
    ) -> None:
        if isinstance(settings, StreamsConfig):
            origins = origins or settings._origins
            settings = settings.given()
        if not isinstance(settings, Mapping | None):
            from headrace.core.config_sources import no_mapping

            raise no_mapping(settings)
        self._origins: dict[str, str] = dict(origins or {})
        given = _current_names(settings or {})
        values = {key: self._validated(key, value) for key, value in given.items()}
        self._given = frozenset(values)
        self._values = {key: setting.default for key, setting in SETTINGS.items()} | values

    @classmethod
    def load(
        cls,
        settings: Mapping[str, Any] | None = None,
        *,
        file: str | PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
        **keywords: Any,
    ) -> StreamsConfig:
        """Settings from everywhere. Keywords (`application_id=…` is `application.id`) go before the
        mapping, that before variables such as HEADRACE_APPLICATION_ID, those before the file.

        The file is Java properties or TOML. Variables are those of the process, or of `environ`.
        Settings that have no effect are logged.
        """
        from headrace.core.config_sources import log, merged

        if isinstance(settings, StreamsConfig):
            settings = settings.given()
        values, origins = merged(settings, file, environ, keywords)
        config = cls(values, origins)
        for key, why in config.without_effect().items():
            log.warning("%s has no effect: %s", key, why)
        return config

    @property
    def application_id(self) -> str:
        """What the application is called."""
        return str(self._values["application.id"])

    @property
    def optimizations(self) -> frozenset[str]:
        """The optimisations that are switched on."""
        value = self._values["topology.optimization"]
        if value == "none":
            return frozenset()
        if value == "all":
            return frozenset(OPTIMIZATIONS)
        return frozenset(name.strip() for name in value.split(","))

    def is_given(self, key: str) -> bool:
        """Whether the setting was given, and is not only the default."""
        return key in self._given

    def require(self, *keys: str) -> None:
        """Raise ConfigError if one of the settings was not given."""
        for key in keys:
            if not self.is_given(key) or self[key] is None:
                keyword = key.replace(".", "_")
                raise ConfigError(
                    f"{key} must be given, as {keyword}=… or as the variable "
                    f"HEADRACE_{keyword.upper()}, for example. {SETTINGS[key].doc}"
                )

    def given(self) -> dict[str, Any]:
        """The settings that were given."""
        return {key: value for key, value in self._values.items() if key in self._given}

    def origin(self, key: str) -> str | None:
        """Where a setting that was given comes from, if that is known."""
        return self._origins.get(key)

    def client_settings(self, prefix: str = "") -> dict[str, str]:
        """What was given for Kafka clients, under Java's names: without a prefix for all of them,
        or with one ("consumer", "restore.consumer" …) and then here without it."""
        from headrace.core.client_settings import CLIENT_SETTINGS, SHARED

        start = f"{prefix}." if prefix else ""
        return {
            name: _text(value)
            for key, value in self.given().items()
            if key.startswith(start) and value is not None
            if (name := key[len(start) :]) in CLIENT_SETTINGS or name in SHARED
        }

    def topic_settings(self) -> dict[str, str]:
        """What was given for internal topics, with `topic.` before it."""
        return {
            key.removeprefix("topic."): _text(value)
            for key, value in self.given().items()
            if key.startswith("topic.") and value is not None
        }

    def spark_settings(self) -> dict[str, str]:
        """What was given for Spark: its own names, which begin with `spark.`."""
        return {
            key: _text(value)
            for key, value in self.given().items()
            if key.startswith("spark.") and value is not None
        }

    def without_effect(self) -> dict[str, str]:
        """The given settings that do nothing here, and why."""
        from headrace.core.known_keys import why_no_effect

        return {key: why for key in self._given if (why := why_no_effect(key)) is not None}

    def shown(self) -> dict[str, str]:
        """All settings as text for people, without secrets."""
        return {key: self._shown(key) for key in self}

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        settings = ", ".join(f"{key!r}: {self._shown(key)}" for key in self.given())
        return f"StreamsConfig({{{settings}}})"

    def _validated(self, key: str, value: Any) -> Any:
        try:
            setting = SETTINGS.get(key)
            if setting is not None:
                return setting.validated(value)
            from headrace.core.known_keys import check

            check(key)
            return value
        except ConfigError as error:
            origin = self._origins.get(key)
            if origin is None:
                raise
            raise ConfigError(f"{error} (It comes from {origin}.)") from error.__cause__

    def _shown(self, key: str) -> str:
        from headrace.core.known_keys import shown_value

        value = self._values[key]
        if value is None:
            return "None"
        if hasattr(value, "deserialize"):
            return type(value).__name__
        return getattr(value, "__qualname__", None) or shown_value(key, _text(value))


def _current_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(settings)
    for old, new in RENAMED.items():
        if old in given:
            given.setdefault(new, given.pop(old))
    return given


def _text(value: Any) -> str:
    """As Kafka and Spark write values."""
    match value:
        case bool():
            return "true" if value else "false"
        case timedelta():
            return str(value // timedelta(milliseconds=1))
        case list() | tuple():
            return ",".join(map(_text, value))
    return str(value)
