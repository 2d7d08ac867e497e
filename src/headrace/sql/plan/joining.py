"""Joins: what can be joined with what, and the steps for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.sql.analysis.join_keys import equivalents, fits, is_foreign_key_join, is_table
from headrace.sql.analysis.query import JoinedSources, sources_of
from headrace.sql.analysis.sources import QuerySource
from headrace.sql.errors import SqlError
from headrace.sql.formats import FormatInfo, RowFormat, check
from headrace.sql.metastore import WindowInfo
from headrace.sql.plan.columns import Columns
from headrace.sql.plan.keys import relation_key
from headrace.sql.plan.steps import (
    ForeignKeyJoinStep,
    JoinStep,
    ReformatStep,
    RekeyStep,
    Step,
)
from headrace.sql.plan.typing import Typing
from headrace.sql.schema import Column
from headrace.sql.syntax.ast import Expression, JoinKind
from headrace.sql.syntax.formatter import format_expression
from headrace.sql.topics import Topics

_KINDS = {
    JoinKind.INNER: "[INNER] JOIN",
    JoinKind.LEFT: "LEFT [OUTER] JOIN",
    JoinKind.RIGHT: "RIGHT [OUTER] JOIN",
    JoinKind.OUTER: "[FULL] OUTER JOIN",
}
_KIND_WORDS = {JoinKind.RIGHT: "right-outer", JoinKind.OUTER: "full-outer"}

READ_REPARTITION = "https://github.com/confluentinc/ksql/issues/4385"


@dataclass(frozen=True)
class JoinPlanner:
    """Plans the joins of a query. `read` makes the step that reads a source."""

    columns: Columns
    typing: Typing
    topics: Topics
    default_key_format: str
    read: Callable[[QuerySource, str], Step]

    def plan(self, relation: QuerySource | JoinedSources, prefix: str = "") -> Step:
        if isinstance(relation, QuerySource):
            return self.read(relation, f"{prefix}KsqlTopic")
        self._check_formats(relation)
        left = (
            self.read(relation.left, f"{prefix}KafkaTopic_Left")
            if isinstance(relation.left, QuerySource)
            else self.plan(relation.left, f"{prefix}L_")
        )
        right = self.read(relation.right, f"{prefix}KafkaTopic_Right")
        self._check(relation, left, right)
        name = f"{prefix}Join"
        if is_foreign_key_join(relation):
            return self._foreign_key_join(relation, left, right, name)
        return self._key_join(relation, left, right, name)

    def _key_join(self, relation: JoinedSources, left: Step, right: Step, name: str) -> Step:
        left_fits = fits(relation.left_expression, equivalents(relation.left))
        right_fits = fits(relation.right_expression, equivalents(relation.right))
        key_format = self._key_format(left, right, left_fits, right_fits)
        part = relation_key(relation, self.columns)[0]
        left = self._keyed(
            left, relation.left_expression, left_fits, key_format, part.name, f"{name}-left"
        )
        right = self._keyed(
            right, relation.right_expression, right_fits, key_format, part.name, f"{name}-right"
        )
        self._check_partitions(relation, left, right)
        key = (Column(part.name, left.key[0].type),)
        is_last = relation is self.columns.query.relation
        adds_key = is_last and self.columns.synthetic_key is not None
        return JoinStep(
            kind=relation.kind,
            left=left,
            right=right,
            within=relation.within,
            adds_key=adds_key,
            key=key,
            row=(*left.row, *right.row, *(key if adds_key else ())),
            is_table=left.is_table,
            key_format=key_format,
            window=left.window,
            name=name,
        )

    def _key_format(self, left: Step, right: Step, left_fits: bool, right_fits: bool) -> FormatInfo:
        """Both sides must have the same: that of a side that need not be written anew, of a table
        rather than of a stream, of the left rather than of the right."""
        if right.is_table and not left.is_table:
            return right.key_format
        if left_fits or (not right_fits and left.key_format.name != "NONE"):
            return left.key_format
        if right_fits or right.key_format.name != "NONE":
            return right.key_format
        return FormatInfo(self.default_key_format)

    def _keyed(
        self,
        step: Step,
        expression: Expression,
        fits: bool,
        key_format: FormatInfo,
        key_name: str,
        name: str,
    ) -> Step:
        """The step with the expression as its key, in the format that the join wants."""
        if fits:
            # Keys with schemas of different topics are different bytes even if they are the same
            # keys, so that they could be in different partitions.
            same_format = step.key_format == key_format and not key_format.format.schemas
            return step if same_format else _reformatted(step, key_format, name)
        if step.window is not None:
            raise SqlError(
                "Implicit repartitioning of windowed sources is not supported. "
                f"See {READ_REPARTITION}."
            )
        internal = self.columns.internal(expression)
        key = (Column(key_name, self.typing.value_type(internal, step.row)),)
        check(RowFormat(key_format, key, is_key=True))
        return RekeyStep(
            input=step,
            expressions=(internal,),
            key=key,
            row=step.row,
            is_table=step.is_table,
            key_format=key_format,
            name=name,
        )

    def _foreign_key_join(
        self, relation: JoinedSources, left: Step, right: Step, name: str
    ) -> Step:
        if right.key_format.format.schemas:
            # Foreign keys are written by us, and those of the topic by others, with other schemas.
            right = _reformatted(right, right.key_format, f"{name}-right")
        return ForeignKeyJoinStep(
            kind=relation.kind,
            left=left,
            right=right,
            expression=self.columns.internal(relation.left_expression),
            key=left.key,
            row=(*left.row, *right.row),
            is_table=True,
            key_format=left.key_format,
            name=name,
        )

    # What can't be joined

    def _check_formats(self, relation: JoinedSources) -> None:
        if relation is not self.columns.query.relation:
            return
        unfit = [
            each.source.name
            for each in sources_of(relation)
            if each.source.value_format.info.name == "KAFKA"
        ]
        if unfit:
            raise SqlError(
                f"Source(s) {', '.join(unfit)} are using the 'KAFKA' value format. "
                "This format does not yet support JOIN."
            )

    def _check(self, relation: JoinedSources, left: Step, right: Step) -> None:
        shown = f"{_shown(relation.left)} {_KINDS[relation.kind]} {_shown(relation.right)}"
        right_is_table = relation.right.source.is_table
        if left.is_table and not right_is_table:
            raise SqlError(
                "Invalid join order: table-stream joins are not supported; only stream-table "
                f"joins. Got {shown}."
            )
        if right_is_table and not left.is_table and relation.kind in _KIND_WORDS:
            raise SqlError(
                f"Invalid join type: {_KIND_WORDS[relation.kind]} join not supported for "
                f"stream-table join. Got {shown}."
            )
        self._check_within(relation, both_streams=not left.is_table and not right_is_table)
        self._check_condition(relation)
        self._check_types(relation, left, right)
        self._check_windows(relation, left, right)

    def _check_within(self, relation: JoinedSources, *, both_streams: bool) -> None:
        if both_streams and relation.within is None:
            raise SqlError(
                "Stream-Stream joins must have a WITHIN clause specified. None was provided. "
                "To learn about how to specify a WITHIN clause with a stream-stream join, please "
                "visit: https://docs.confluent.io/current/ksql/docs/syntax-reference.html"
                "#create-stream-as-select"
            )
        if not both_streams and relation.within is not None:
            kind = "Table-Table" if is_table(relation.left) else "Stream-Table"
            raise SqlError(
                f"A window definition was provided for a {kind} join. These joins are not "
                "windowed. Please drop the window definition (ie. the WITHIN clause) and try to "
                "execute your join again."
            )

    def _check_condition(self, relation: JoinedSources) -> None:
        if not relation.right.source.is_table:
            return
        criteria = format_expression(relation.criteria)[1:-1]
        on_key = fits(relation.right_expression, equivalents(relation.right))
        if not is_table(relation.left):
            if not on_key:
                raise SqlError(
                    "Invalid join condition: stream-table joins require to join on the table's "
                    f"primary key. Got {criteria}."
                )
            return
        if not on_key:
            raise SqlError(
                "Invalid join condition: table-table joins require to join on the primary key of "
                f"the right input table. Got {criteria}."
            )
        if not is_foreign_key_join(relation):
            return
        if isinstance(relation.left, JoinedSources):
            raise SqlError(
                "Invalid join condition: foreign-key table-table joins are not supported as part "
                f"of n-way joins. Got {criteria}."
            )
        if relation.kind in _KIND_WORDS:
            raise SqlError(
                f"Invalid join type: {_KIND_WORDS[relation.kind]} join not supported for "
                f"foreign-key table-table join. Got {_shown(relation.left)} "
                f"{_KINDS[relation.kind]} {_shown(relation.right)}."
            )

    def _check_types(self, relation: JoinedSources, left: Step, right: Step) -> None:
        one = self.typing.value_type(self.columns.internal(relation.left_expression), left.row)
        other = self.typing.value_type(self.columns.internal(relation.right_expression), right.row)
        if one != other:
            raise SqlError(
                "Invalid join condition: types don't match. Got "
                f"{format_expression(relation.left_expression)}{{{one}}} = "
                f"{format_expression(relation.right_expression)}{{{other}}}."
            )

    def _check_windows(self, relation: JoinedSources, left: Step, right: Step) -> None:
        if (left.window is None) != (right.window is None):
            raise SqlError(
                "Can not join windowed source to non-windowed source.\n"
                f"{_window_shown(_shown(relation.left), left.window)}\n"
                f"{_window_shown(_shown(relation.right), right.window)}"
            )
        same_kind = _is_session(left.window) == _is_session(right.window)
        reformatted = left.key_format.format.schemas and same_kind
        if left.window != right.window and not reformatted:
            raise SqlError(
                "Implicit repartitioning of windowed sources is not supported. "
                f"See {READ_REPARTITION}."
            )

    def _check_partitions(self, relation: JoinedSources, left: Step, right: Step) -> None:
        """Sides that are read as they are must have as many partitions as each other."""
        sizes = []
        for step, part in ((left, relation.left), (right, relation.right)):
            while isinstance(part, JoinedSources):
                step_of = step.left if isinstance(step, JoinStep) else step
                part, step = part.left, step_of
            if isinstance(step, RekeyStep | ReformatStep):
                continue
            topic = self.topics.find(part.source.topic)
            if topic is not None:
                sizes.append((part.alias, topic.partitions))
        if len(sizes) == 2 and sizes[0][1] != sizes[1][1]:
            (one, ones), (other, others) = sizes
            raise SqlError(
                f"Can't join `{one}` with `{other}` since the number of partitions don't match. "
                f"`{one}` partitions = {ones}; `{other}` partitions = {others}. Please repartition "
                "either one so that the number of partitions match."
            )


def _reformatted(step: Step, key_format: FormatInfo, name: str) -> Step:
    return ReformatStep(
        input=step,
        key=step.key,
        row=step.row,
        is_table=step.is_table,
        key_format=key_format,
        window=step.window,
        name=name,
    )


def _is_session(window: WindowInfo | None) -> bool:
    return window is not None and window.size_ms is None


def _shown(relation: QuerySource | JoinedSources) -> str:
    """The source that a message blames: of several, the first."""
    return next(sources_of(relation)).alias


def _window_shown(name: str, window: WindowInfo | None) -> str:
    how = "not windowed" if window is None else f"{window.kind.value} windowed"
    return f"`{name}` is {how}"
