"""Reads the parts of two sets of deployments and compares them. For jobs and reports alike.

Reads profiles only, never a raw row; writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from monitor.checks.comparison.cells import Cells
from monitor.checks.comparison.codec import comparison_body
from monitor.checks.comparison.compare import Comparison, Options, compare
from monitor.checks.comparison.factors import Context, Contrast, contrast
from monitor.checks.comparison.gather import CellKey, Gatherer
from monitor.contract import Task
from monitor.deployment import TAG_NAMES, Tags
from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.profiles.cells import NumberCells
from monitor.profiles.predictions import regression_column
from monitor.records import LIVE_LEG
from monitor.store.baselines import current_binning
from monitor.store.comparisons import (
    WHOLE,
    FoundPart,
    Traffic,
    parts_of,
    served_days,
    traffic_by_segment,
)
from monitor.store.models import ModelContext, deployment_names, deployment_tags
from monitor.store.profile_rows import segments
from monitor.windows import Grain, Window

ALL_REQUESTS = "all requests"
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Wanted:
    """Which deployments, over which window (None: the days on which both sides served)."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    window: Window | None = None
    leg: str = LIVE_LEG
    epsilon: float = Options.epsilon
    canary: bool = False


@dataclass(frozen=True)
class Made:
    """A comparison with the window it was made over, and its stored form."""

    comparison: Comparison
    window: Window
    body: Mapping[str, Any]


def compare_versions(
    connection: Connection,
    model: ModelContext,
    wanted: Wanted,
    now: datetime,
    rng: np.random.Generator,
) -> Made:
    """Compare deployments b with deployments a from stored parts.

    Raises UnknownSubject when a side never served in the window, ConfigurationError when the sides
    can't be compared (empty, or a deployment on both).
    """
    _require_sides(wanted)
    tags = deployment_tags(connection, model.project_id, model.model_id)
    found = contrast(_tags_of(wanted.a, tags), _tags_of(wanted.b, tags))
    window = wanted.window or _both_served(connection, model, wanted, now)
    traffic = Traffic(model.project_id, model.model_id, wanted.leg, (*found.a, *found.b), window)
    counts = traffic_by_segment(connection, traffic)
    _require_traffic(counts, wanted, window)
    slices = _chosen_slices(connection, model, found, counts)
    parts = list(parts_of(connection, traffic, slices))
    regression = _regression_cells(connection, model)
    gathered: dict[str | None, Cells] = {}
    for factor, contexts in _groups(found).items():
        gatherer = Gatherer(model.contract, regression)
        _gather(gatherer, parts, contexts, slices)
        gathered[factor] = gatherer.cells(now)
    unsliced = ALL_REQUESTS if model.contract.segments else None
    options = Options(wanted.epsilon, wanted.canary, model.contract.time_zone, unsliced)
    made = compare(found, gathered, options, rng)
    return Made(made, window, comparison_body(made, model.contract))


def named_deployments(connection: Connection, model: ModelContext, text: str) -> tuple[int, ...]:
    """Deployments by name, number or tag: `blue,7` or `precision=float16,runtime=onnx`.

    Names and numbers add up; tags must hold all together. UnknownSubject names what there is.
    """
    names = deployment_names(connection, model.project_id, model.model_id)
    tags = deployment_tags(connection, model.project_id, model.model_id)
    by_name = {name: number for number, name in names.items()}
    items = [item.strip() for item in text.split(",") if item.strip()]
    chosen: set[int] = set()
    conditions: dict[str, str] = {}
    for item in items:
        if item in by_name:
            chosen.add(by_name[item])
        elif item.isascii() and item.isdigit() and int(item) in tags:
            chosen.add(int(item))
        elif "=" in item:
            name, _, value = item.partition("=")
            conditions[name.strip()] = value.strip()
        else:
            raise UnknownSubject(f"no deployment {item!r}; {_known(names, tags)}")
    if conditions:
        chosen |= _with_tags(conditions, tags, names)
    if not chosen:
        raise UnknownSubject(f"{text!r} names no deployment; {_known(names, tags)}")
    return tuple(sorted(chosen))


def _with_tags(
    conditions: Mapping[str, str], tags: Mapping[int, Tags], names: Mapping[int, str]
) -> set[int]:
    for name in conditions:
        if name not in TAG_NAMES:
            raise UnknownSubject(f"no tag {name!r}; known are {', '.join(sorted(TAG_NAMES))}")
    found = {
        number for number, known in tags.items() if conditions.items() <= known.as_dict().items()
    }
    if not found:
        told = ", ".join(f"{name}={value}" for name, value in conditions.items())
        raise UnknownSubject(f"no deployment has {told}; {_known(names, tags)}")
    return found


def _known(names: Mapping[int, str], tags: Mapping[int, Tags]) -> str:
    told = [f"{names[n]} ({n})" if n in names else str(n) for n in sorted(tags)]
    return f"there are: {', '.join(told) or 'none yet'}"


def _require_sides(wanted: Wanted) -> None:
    common = sorted(set(wanted.a) & set(wanted.b))
    if common:
        numbers = ", ".join(str(number) for number in common)
        what = f"deployment {numbers} stands on both sides; name it on one only"
        raise ConfigurationError("comparison", [Problem("a and b", what)])
    if not 0 <= wanted.epsilon < 1:
        what = f"{wanted.epsilon} is not from 0 up to 1; 0.02 is 2 points, or 2 % of a's value"
        raise ConfigurationError("comparison", [Problem("epsilon", what)])
    if not wanted.a or not wanted.b:
        what = "name at least one deployment on each side"
        raise ConfigurationError("comparison", [Problem("a and b", what)])


def _tags_of(numbers: Iterable[int], tags: Mapping[int, Tags]) -> dict[int, Tags]:
    missing = [number for number in numbers if number not in tags]
    if missing:
        raise UnknownSubject(f"no deployment {missing[0]}; {_known({}, tags)}")
    return {number: tags[number] for number in numbers}


def _require_traffic(counts: Mapping[tuple[int, int], int], wanted: Wanted, window: Window) -> None:
    for name, side in (("a", wanted.a), ("b", wanted.b)):
        if not sum(counts.get((number, WHOLE), 0) for number in side):
            numbers = ", ".join(str(number) for number in side)
            raise UnknownSubject(
                f"{name} (deployment {numbers}) has no profiled request on leg {wanted.leg} in"
                f" {window}; choose another --window, or run the jobs first"
            )


def _both_served(
    connection: Connection, model: ModelContext, wanted: Wanted, now: datetime
) -> Window:
    """From the first to the last UTC day on which both sides served; else all days of either."""
    everything = Window(BEGINNING, now + Grain.DAY.length)
    traffic = Traffic(
        model.project_id, model.model_id, wanted.leg, (*wanted.a, *wanted.b), everything
    )
    days = served_days(connection, traffic)
    a, b = (set().union(*(days[number] for number in side)) for side in (wanted.a, wanted.b))
    served = a & b or a | b
    if not served:
        return everything
    return Window(min(served), max(served) + Grain.DAY.length)


def _chosen_slices(
    connection: Connection,
    model: ModelContext,
    found: Contrast,
    counts: Mapping[tuple[int, int], int],
) -> dict[int, str]:
    """Segments that part the traffic: of the declared keys the one of the most columns, and of
    those the one whose mix differs most between the sides. No outcome takes part in the choice."""
    known = segments(connection, model.project_id, model.model_id)
    best: tuple[int, float] = (0, -1.0)
    chosen: dict[int, str] = {}
    for key in model.contract.segment_keys():
        mine = {n: named for n, named in known.items() if set(named) == set(key)}
        mix = np.array(
            [
                [sum(counts.get((d, n), 0) for d in side) for n in mine]
                for side in (found.a, found.b)
            ],
            np.float64,
        )
        if mix.size == 0 or not mix.sum(axis=1).all():
            continue
        shares = mix / mix.sum(axis=1, keepdims=True)
        rank = (len(key), float(np.abs(shares[0] - shares[1]).sum() / 2))
        if rank > best:
            best = rank
            chosen = {
                n: ", ".join(f"{column} {named[column]}" for column in key)
                for n, named in mine.items()
            }
    return chosen


def _groups(found: Contrast) -> dict[str | None, tuple[Context, ...]]:
    if found.confounded:
        return {None: (Context(found.a, found.b),)}
    return {one.factor: one.contexts for one in found.identified}


def _gather(
    gatherer: Gatherer,
    parts: Iterable[FoundPart],
    contexts: tuple[Context, ...],
    slices: Mapping[int, str],
) -> None:
    """Hand every part to its side; where a slot has no slices (no baseline yet), all requests."""
    place = {
        number: (side, context)
        for context, members in enumerate(contexts)
        for side, numbers in enumerate((members.a, members.b))
        for number in numbers
    }
    together = groupby(parts, key=lambda one: (one.slot, one.deployment_id, one.kind))
    for (slot, deployment_id, kind), found in together:
        if deployment_id not in place:
            continue
        side, context = place[deployment_id]
        every = list(found)
        sliced = [one for one in every if one.segment_id != WHOLE and one.n]
        for one in sliced or every:
            name = slices.get(one.segment_id, ALL_REQUESTS)
            gatherer.add(CellKey(slot.start, slot.end, name, context), side, kind, one.part())


def _regression_cells(connection: Connection, model: ModelContext) -> NumberCells | None:
    column = regression_column(model.contract)
    if model.contract.task is not Task.REGRESSION or column is None:
        return None
    held = current_binning(connection, model.project_id, model.model_id)
    cells = held.binning.views.get(column.name) if held is not None else None
    return cells if isinstance(cells, NumberCells) else None
