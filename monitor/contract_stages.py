"""The stages of one request: what runs after what, and which column times it. Pure values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pydantic import Field

from monitor.contract_base import MAX_NAME_LENGTH, Frozen
from monitor.fields import TIME_UNITS

MAX_STAGES = 20


class Stage(Frozen):
    """One stage. `column` is the timing column, by default the one that holds `stage.NAME`.

    `after` names stages listed above that must end before this one begins; by default the one just
    above it. `after: []` begins with the request: stages side by side are written so.
    """

    name: str = Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$")
    column: str | None = Field(default=None, max_length=MAX_NAME_LENGTH)
    after: tuple[str, ...] | None = Field(default=None, max_length=MAX_STAGES)


def stage_column(stage: Stage, timings: Mapping[str, str]) -> str | None:
    """The stage's column; `timings`: timing columns by the standard field or name they hold."""
    return stage.column or timings.get(f"stage.{stage.name}") or timings.get(stage.name)


def stage_problems(
    stages: Sequence[Stage],
    timings: Mapping[str, str],
    units: Mapping[str, str | None],
    usable: Collection[str],
) -> list[str]:
    """What does not fit. `units` of all columns; `usable`: number and integer timing columns."""
    problems, above = [], list[str]()
    for stage in stages:
        if stage.name in above:
            problems.append(f"stage {stage.name!r} is declared twice")
        column = stage_column(stage, timings)
        if column is None:
            problems.append(
                f"stage {stage.name!r}: no timing column holds stage.{stage.name}; name its column"
            )
        elif column not in usable:
            problems.append(f"stage {stage.name!r}: {column!r} is no number with the role timing")
        elif (units[column] or "ms") not in TIME_UNITS:
            known = ", ".join(TIME_UNITS)
            problems.append(f"stage {stage.name!r}: unit of {column!r} is none of {known}")
        problems += [
            f"stage {stage.name!r} is after {other!r}, which is not listed above it"
            for other in stage.after or ()
            if other not in above
        ]
        above.append(stage.name)
    return problems


def predecessors(stages: Sequence[Stage]) -> tuple[tuple[int, ...], ...]:
    """For each stage the places of those it waits for; all of them stand before it."""
    places = {stage.name: place for place, stage in enumerate(stages)}
    found: list[tuple[int, ...]] = []
    for place, stage in enumerate(stages):
        if stage.after is None:
            found.append((place - 1,) if place else ())
        else:
            found.append(tuple(places[name] for name in stage.after))
    return tuple(found)
