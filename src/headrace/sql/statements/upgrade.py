"""CREATE OR REPLACE … AS: a query takes the place of another, with its positions and its state.

So it must understand that state. What filters and projects behind the last aggregation or join may
change at will; what is before it has made the state, and must stay.
"""

from __future__ import annotations

from headrace.sql.errors import SqlError
from headrace.sql.plan.description import describe
from headrace.sql.plan.steps import (
    FilterStep,
    FlatMapStep,
    ProjectStep,
    RekeyStep,
    SourceStep,
    Step,
)


def check_upgrade(name: str, old: Step, new: Step) -> None:
    """Raise SqlError if a query can't go on where another is."""
    was, will_be = _kept(old), _kept(new)
    if isinstance(was, SourceStep) and isinstance(will_be, SourceStep):
        if _read(was) != _read(will_be):
            raise SqlError(
                f"Cannot upgrade data source: the query of '{name}' reads "
                f"{was.source.source.name}, and can't read {will_be.source.source.name} from where "
                f"it is. Drop '{name}' and create it anew."
            )
        return
    if was != will_be:
        raise SqlError(
            f"Cannot upgrade data source: the state of the query of '{name}' was made by\n"
            f"{describe(was, name)}and can't be used by\n{describe(will_be, name)}"
            f"Drop '{name}' and create it anew."
        )


def _kept(step: Step) -> Step:
    """The last step that has state, or reads."""
    while isinstance(step, ProjectStep | FilterStep | FlatMapStep | RekeyStep):
        step = step.input
    return step


def _read(step: SourceStep) -> tuple[str, str, bool]:
    source = step.source.source
    return source.name, source.topic, source.is_table
