"""Looks through the answered requests of a window: random number, stratum and measure of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from monitor.checks.signals.sampling import (
    LEAST_MEASURE,
    Drawn,
    TooSmall,
    allocation,
    draw_poisson,
    draw_stratified,
    near_threshold,
    random_numbers,
)
from monitor.contract import ColumnRole, ColumnType
from monitor.errors import ConfigurationError, Problem
from monitor.jobs.base import JobContext
from monitor.jobs.review.wanted import DEPLOYMENT, Importance, Wanted
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.rows import RequestRows
from monitor.records import REQUEST_SCHEMA, TIMESTAMP
from monitor.store.reviews import answered_requests
from monitor.windows import Window

MOST_STRATA = 20
_KEY = ("project_id", "model_id", "leg")
OTHER, WHOLE, MISSING = "other", "all", "(missing)"


@dataclass(frozen=True, eq=False)
class Population:
    """n answered requests: `random`, `measure` float64[n], `stratum` int64[n] into `names`."""

    random: Floats
    measure: Floats
    stratum: Integers
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.random)

    def counts(self) -> Integers:
        """Requests of each stratum, int64[h]."""
        return np.bincount(self.stratum, minlength=len(self.names)).astype(np.int64)


@dataclass
class _Names:
    """Strata by name, numbered as they are met."""

    numbers: dict[str, int] = field(default_factory=dict)

    def codes(self, labels: pa.Array) -> Integers:
        encoded = labels.dictionary_encode()
        mine = [
            self.numbers.setdefault(name, len(self.numbers))
            for name in encoded.dictionary.to_pylist()
        ]
        places: Integers = np.array(mine, np.int64)[np.asarray(encoded.indices)]
        return places


def population(context: JobContext, wanted: Wanted, window: Window) -> Population:
    """Everything a review is drawn from: 24 bytes a request are held."""
    names = _Names()
    parts: list[tuple[Floats, Floats, Integers]] = [
        (np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
    ]
    for rows in look(context, wanted, window):
        random = random_numbers(rows.request_ids, rows.event_time, wanted.seed)
        parts.append((random, _measure(rows, wanted), names.codes(_strata(rows, wanted))))
    random, measure, stratum = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _with_other(Population(random, measure, stratum, tuple(names.numbers)))


def look(context: JobContext, wanted: Wanted, window: Window) -> Iterator[RequestRows]:
    """The answered requests, a piece at a time."""
    for table in _tables(context, wanted, window):
        yield RequestRows.from_table(table, context.model.layout, context.contract)


def _tables(context: JobContext, wanted: Wanted, window: Window) -> Iterator[pa.Table]:
    with answered_requests(
        context.bulk, context.project_id, context.model_id, wanted.leg, window
    ) as tables:
        yield from tables


def rows_of_numbers(
    context: JobContext, wanted: Wanted, window: Window, random: Floats
) -> tuple[RequestRows, Floats]:
    """The requests that have one of these random numbers, in order of time and id, and theirs."""
    found: list[pa.Table] = [REQUEST_SCHEMA.empty_table().drop_columns(list(_KEY))]
    for table in _tables(context, wanted, window):
        times = table["event_time"].combine_chunks().cast(TIMESTAMP).cast(pa.int64()).to_numpy()
        mine = random_numbers(table["request_id"].combine_chunks(), times, wanted.seed)
        places = np.flatnonzero(np.isin(mine, random))
        if len(places):
            found.append(table.take(places).cast(table.schema))
    few = pa.concat_tables(found, promote_options="permissive")
    few = few.sort_by([("event_time", "ascending"), ("request_id", "ascending")]).combine_chunks()
    rows = RequestRows.from_table(few, context.model.layout, context.contract)
    return rows, random_numbers(rows.request_ids, rows.event_time, wanted.seed)


def drawn_from(found: Population, wanted: Wanted) -> Drawn:
    """The requests that are drawn; ConfigurationError when the size can't hold the strata."""
    if wanted.importance is not Importance.RANDOM:
        return draw_poisson(found.random, found.measure, wanted.size)
    try:
        sizes = allocation(found.counts(), wanted.size)
    except TooSmall as small:
        what = (
            f"{wanted.size} can't hold two requests of each of {len(found.names)} strata;"
            f" at least {small.needed}"
        )
        raise ConfigurationError("review", [Problem("--size", what)]) from None
    return draw_stratified(found.random, found.stratum, sizes)


def _with_other(found: Population) -> Population:
    """The largest strata by themselves, what is beyond them together."""
    if len(found.names) <= MOST_STRATA:
        return found
    counts = Counter(dict(zip(found.names, found.counts().tolist(), strict=True)))
    kept = [name for name, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]
    kept = kept[: MOST_STRATA - 1]
    places = {name: place for place, name in enumerate(kept)}
    moved = np.array([places.get(name, len(kept)) for name in found.names], np.int64)
    return replace(found, stratum=moved[found.stratum], names=(*kept, OTHER))


def _measure(rows: RequestRows, wanted: Wanted) -> Floats:
    if wanted.importance is Importance.VIOLATIONS:
        measure = np.full(len(rows), LEAST_MEASURE)
        measure[rows.violation_rows] = 1.0
        return measure
    score = rows.contract.single(ColumnRole.SCORE)
    if wanted.importance is Importance.RANDOM or score is None:
        return np.ones(len(rows))
    values = rows.number_column(rows.layout.slot(score.name).number_start)
    return near_threshold(values, rows.contract.decision_threshold)


def _strata(rows: RequestRows, wanted: Wanted) -> pa.Array:
    if not wanted.by:
        return pa.repeat(pa.scalar(WHOLE), len(rows))
    columns = [[f"{name}={value}" for value in _values(rows, name)] for name in wanted.by]
    return pa.array([", ".join(each) for each in zip(*columns, strict=True)])


def _values(rows: RequestRows, name: str) -> list[str] | npt.NDArray[Any]:
    if name == DEPLOYMENT:
        return rows.deployment_id
    slot = rows.layout.slot(name)
    if slot.type is ColumnType.BOOLEAN:
        numbers = rows.number_column(slot.number_start).tolist()
        return [MISSING if v != v else ("true" if v else "false") for v in numbers]  # noqa: PLR0124
    texts = rows.text_column(slot.text_start).to_pylist()
    return [MISSING if text is None else text for text in texts]
