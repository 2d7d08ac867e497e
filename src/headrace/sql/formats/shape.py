"""The shape of rows in a topic, and whether a format can have it."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.formats.catalog import Feature, FormatError, FormatInfo
from headrace.sql.formats.checks import check_columns
from headrace.sql.schema import Column


@dataclass(frozen=True)
class RowFormat:
    """How the keys or the values of a topic look: all that is needed to read and write them."""

    info: FormatInfo
    columns: tuple[Column, ...]
    features: frozenset[Feature] = frozenset()
    is_key: bool = False

    @property
    def is_unwrapped(self) -> bool:
        """Whether the only column is written by itself, without a record around it."""
        return Feature.UNWRAP_SINGLES in self.features


def key_features(info: FormatInfo, columns: tuple[Column, ...]) -> frozenset[Feature]:
    """Those of a key: a single column is never wrapped if the format leaves the choice."""
    format = info.format
    if len(columns) == 1 and len(format.features) == 2:
        return frozenset({Feature.UNWRAP_SINGLES})
    return frozenset()


def value_features(
    info: FormatInfo,
    columns: tuple[Column, ...],
    wrap: bool | None = None,
    wrap_by_default: bool | None = None,
) -> frozenset[Feature]:
    """Those of a value. `wrap` is WRAP_SINGLE_VALUE, `wrap_by_default` the server's setting
    `ksql.persistence.wrap.single.values`, each None if it wasn't given."""
    format = info.format
    if wrap is not None:
        feature = Feature.WRAP_SINGLES if wrap else Feature.UNWRAP_SINGLES
        if not format.supports(feature):
            raise FormatError(
                f"Format '{format.name}' does not support 'WRAP_SINGLE_VALUE' set to "
                f"'{str(wrap).lower()}'."
            )
        if len(columns) != 1:
            raise FormatError("'WRAP_SINGLE_VALUE' is only valid for single-field value schemas")
        return frozenset({feature})
    if len(columns) != 1 or wrap_by_default is None:
        return frozenset()
    feature = Feature.WRAP_SINGLES if wrap_by_default else Feature.UNWRAP_SINGLES
    return frozenset({feature}) if len(format.features) == 2 else frozenset()


def check(rows: RowFormat) -> None:
    """Raise FormatError if the format can't write these columns."""
    try:
        check_columns(rows.info, rows.columns, rows.is_key)
    except FormatError as reason:
        role = "Key" if rows.is_key else "Value"
        raise FormatError(
            f"{role} format does not support schema.\n"
            f"format: {rows.info.name}\n"
            f"schema: Persistence{{columns={_listed(rows)}, "
            f"features=[{', '.join(sorted(rows.features))}]}}\n"
            f"reason: {reason}"
        ) from reason


def _listed(rows: RowFormat) -> str:
    suffix = " KEY" if rows.is_key else ""
    return f"[{', '.join(f'{column}{suffix}' for column in rows.columns)}]"
