"""Takes a filled task file in: ratings become labels, and what they say is summed up anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from monitor.errors import ConfigurationError, Problem
from monitor.jobs.base import JobContext
from monitor.jobs.review.filled_file import Answer, read_filled
from monitor.jobs.review.sum_up import refresh, signals_of
from monitor.records import LABEL_SCHEMA, LabelBatch
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.reviews import (
    Draw,
    Item,
    items_of,
    ratings_of,
    required_draw,
)


@dataclass(frozen=True)
class Taken:
    """What a file brought: new answers, changed ones, those known before, cells left empty."""

    new: int
    changed: int
    known: int
    empty: int


def take_ratings(
    context: JobContext, store: IntakeStore, name: str, rater: str, text: str, source: str
) -> Taken:
    """Store the ratings of a filled file as labels of the rater.

    Nothing is stored when anything is wrong: ConfigurationError lists all of it. The same file
    again changes nothing; a changed cell is a new revision of the rating.
    """
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        made = required_draw(connection, context.project_id, context.model_id, name)
        items = items_of(connection, context.project_id, made.id)
        known = ratings_of(connection, context.project_id, context.model_id, made)
    _require_usable(made, items, rater)
    by_place = {item.place: item for item in items}
    filled = read_filled(text, rater, by_place, signals_of(context, made))
    if filled.problems:
        raise ConfigurationError(source, filled.problems)
    before = {(one.place, one.signal): one.value for one in known if one.rater == rater}
    fresh = [one for one in filled.answers if before.get((one.place, one.signal)) != one.value]
    store.store_labels(_batch(context, rater, fresh, by_place))
    refresh(context, name)
    changed = sum((one.place, one.signal) in before for one in fresh)
    return Taken(len(fresh) - changed, changed, len(filled.answers) - len(fresh), filled.empty)


def _require_usable(made: Draw, items: Sequence[Item], rater: str) -> None:
    if not items:
        what = "its requests have expired, and with them its items"
        raise ConfigurationError("review", [Problem(made.name, what)])
    if rater not in made.plan["raters"]:
        names = ", ".join(made.plan["raters"])
        what = f"{rater[:80]!r} is no rater of {made.name!r}; there are: {names}"
        raise ConfigurationError("review", [Problem("--rater", what)])


def _batch(
    context: JobContext, rater: str, answers: Sequence[Answer], items: dict[int, Item]
) -> LabelBatch:
    rows = [_row(context, rater, one, items[one.place], context.now) for one in answers]
    columns = {name: [row[name] for row in rows] for name in LABEL_SCHEMA.names}
    return LabelBatch(pa.table(columns, schema=LABEL_SCHEMA), range(len(rows)))


def _row(
    context: JobContext, rater: str, answer: Answer, item: Item, now: datetime
) -> dict[str, Any]:
    text = answer.value if isinstance(answer.value, str) else None
    return {
        "project_id": context.project_id,
        "model_id": context.model_id,
        "label_name": answer.signal,
        "request_id": item.request_id,
        "source": rater,
        "observed_at": now,
        "arrived_at": now,
        "event_time": item.event_time,
        "leg": item.leg,
        "value": None if text is not None else answer.value,
        "text": text,
    }
