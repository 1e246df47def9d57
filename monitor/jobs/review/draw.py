"""Draws a review, stores what was drawn with which probability, and writes the task files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.checks.signals.sampling import Drawn, random_numbers, raters_of_items
from monitor.errors import ConfigurationError, Problem
from monitor.jobs.base import JobContext
from monitor.jobs.review.population import Population, drawn_from, population, rows_of_numbers
from monitor.jobs.review.sum_up import refresh
from monitor.jobs.review.task_files import Task, files_there, write_tasks
from monitor.jobs.review.wanted import Wanted, check, rated_signals
from monitor.profiles.arrays import Floats
from monitor.profiles.rows import RequestRows
from monitor.store.engine import Role, transaction
from monitor.store.reviews import Draw, Item, add_draw, find_draw, items_of
from monitor.windows import Window

_DECIDED = ("signals", "raters", "size", "double", "seed", "leg", "by", "importance", "show_output")


@dataclass(frozen=True)
class DrawReport:
    """What was drawn: the review, its items, the files by rater; `again`: it was there already."""

    made: Draw
    items: tuple[Item, ...]
    files: Mapping[str, Path]
    again: bool


def draw_review(
    context: JobContext, wanted: Wanted, window: Window, *, by: str, folder: Path
) -> DrawReport:
    """Draw a review and write its files.

    The same review again (same name, window and way of drawing) is not drawn anew: its items stay
    and its files are written again. Raises ConfigurationError when something of what is asked for
    can't be, or when the name stands for another review.
    """
    check(wanted, context.contract)
    _keep_filled(wanted, folder)
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        known = find_draw(connection, context.project_id, context.model_id, wanted.name)
        items = items_of(connection, context.project_id, known.id) if known is not None else []
    if known is not None:
        _require_same(known, wanted, window)
        if not items:
            what = "its requests have expired; draw a new review under another name"
            raise ConfigurationError("review", [Problem(wanted.name, what)])
        rows = _rows_again(context, wanted, window, items)
        return _report(context, known, items, rows, wanted, folder, again=True)
    made, items, rows = _draw(context, wanted, window, by)
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        add_draw(connection, context.project_id, context.model_id, made, items)
    refresh(context, wanted.name)
    return _report(context, made, items, rows, wanted, folder, again=False)


def _draw(
    context: JobContext, wanted: Wanted, window: Window, by: str
) -> tuple[Draw, list[Item], RequestRows]:
    found = population(context, wanted, window)
    if len(found) == 0:
        what = f"no answered request on the leg {wanted.leg} from {window}"
        raise ConfigurationError("review", [Problem("--window", what)])
    drawn = drawn_from(found, wanted)
    if len(drawn.rows) == 0:
        what = f"by chance none of {len(found)} requests was drawn; ask for more, or another --seed"
        raise ConfigurationError("review", [Problem("--size", what)])
    rows, random = rows_of_numbers(context, wanted, window, found.random[drawn.rows])
    items = _items(wanted, found, drawn, rows, random)
    counts = dict(zip(found.names, found.counts().tolist(), strict=True))
    plan = wanted.plan() | {"strata": counts, "drawn": len(items), "results": []}
    return Draw(0, wanted.name, window, len(found), plan, by, context.now), items, rows


def _items(
    wanted: Wanted, found: Population, drawn: Drawn, rows: RequestRows, random: Floats
) -> list[Item]:
    chosen = {
        float(found.random[row]): (found.names[found.stratum[row]], float(probability))
        for row, probability in zip(drawn.rows.tolist(), drawn.probability, strict=True)
    }
    rng = np.random.default_rng(wanted.seed)
    raters = raters_of_items(len(rows), wanted.raters, wanted.double, rng)
    facts = zip(
        rows.request_ids.to_pylist(),
        rows.event_time.tolist(),
        rows.deployment_id.tolist(),
        random.tolist(),
        raters,
        strict=True,
    )
    return [
        Item(place, request_id, _moment(at), wanted.leg, deployment, *chosen[number], mine)
        for place, (request_id, at, deployment, number, mine) in enumerate(facts, 1)
    ]


def _rows_again(
    context: JobContext, wanted: Wanted, window: Window, items: Sequence[Item]
) -> RequestRows:
    """The rows of items that were drawn before."""
    ids = pa.array([item.request_id for item in items], pa.string())
    times = np.array([_micros(item.event_time) for item in items], np.int64)
    random = random_numbers(ids, times, wanted.seed)
    return rows_of_numbers(context, wanted, window, random)[0]


def _report(
    context: JobContext, made: Draw, items: Sequence[Item], rows: RequestRows, wanted: Wanted,
    folder: Path, *, again: bool,
) -> DrawReport:  # fmt: skip
    by_key = {(item.request_id, _micros(item.event_time)): item for item in items}
    keys = zip(rows.request_ids.to_pylist(), rows.event_time.tolist(), strict=True)
    tasks = [Task(by_key[key], rows, place) for place, key in enumerate(keys) if key in by_key]
    signals = [one for one in rated_signals(context.contract) if one.name in wanted.signals]
    files = write_tasks(context.contract, wanted, signals, tasks, folder)
    return DrawReport(made, tuple(items), files, again)


def _keep_filled(wanted: Wanted, folder: Path) -> None:
    """Nobody's work is written over, and there is a place to write to."""
    if not folder.is_dir():
        raise ConfigurationError("review", [Problem("--output", f"no folder {folder}; make it")])
    problems = [
        Problem(str(path), "is there already and may be filled in; move it, or choose --output")
        for path in files_there(wanted, folder).values()
    ]
    if problems:
        raise ConfigurationError("review", problems)


def _require_same(known: Draw, wanted: Wanted, window: Window) -> None:
    plan = wanted.plan()
    differing = [key for key in _DECIDED if _plain(known.plan.get(key)) != _plain(plan[key])] + (
        ["window"] if known.window != window else []
    )
    if differing:
        what = (
            f"is the name of another review ({', '.join(differing)} differ);"
            " choose another --name, or draw it as it was"
        )
        raise ConfigurationError("review", [Problem(wanted.name, what)])


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
