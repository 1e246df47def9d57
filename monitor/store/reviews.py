"""Reviews: what was drawn with which probability, who rates it, and the ratings that came back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.errors import UnknownSubject
from monitor.records import RequestOutcome
from monitor.store.arrays import insert_rows
from monitor.store.bulk import BulkConnections, execute, literal, read
from monitor.store.measurements import finite
from monitor.store.tables import label, review_draw, review_item
from monitor.windows import Window

ANSWERED = (RequestOutcome.ANSWERED, RequestOutcome.CACHED, RequestOutcome.FELL_BACK)
_COLUMNS = (
    "event_time, request_id, deployment_id, contract_version, outcome, outcome_reason,"
    " received_at, violations, numbers, texts"
)


@dataclass(frozen=True)
class Draw:
    """A review: `plan` says how it was drawn and holds what its ratings said so far."""

    id: int
    name: str
    window: Window
    population: int
    plan: Mapping[str, Any]
    drawn_by: str
    drawn_at: datetime


@dataclass(frozen=True)
class Item:
    """A request that somebody is asked to rate."""

    place: int
    request_id: str
    event_time: datetime
    leg: str
    deployment_id: int
    stratum: str
    probability: float
    raters: tuple[str, ...]


@dataclass(frozen=True)
class StoredRating:
    """The newest answer of one rater about one item: a number, or win, loss, tie."""

    place: int
    signal: str
    rater: str
    value: float | str


def draws(connection: Connection, project_id: int, model_id: int) -> list[Draw]:
    """All reviews of a model, the newest first."""
    row = review_draw.c
    query = (
        sa.select(review_draw)
        .where(row.project_id == project_id, row.model_id == model_id)
        .order_by(row.drawn_at.desc(), row.id.desc())
    )
    return [_draw(found) for found in connection.execute(query)]


def find_draw(
    connection: Connection, project_id: int, model_id: int, name: str, *, lock: bool = False
) -> Draw | None:
    """The review of this name, None when there is none. `lock`: nobody else changes it now."""
    row = review_draw.c
    query = sa.select(review_draw).where(
        row.project_id == project_id, row.model_id == model_id, row.name == name
    )
    found = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if found is None else _draw(found)


def required_draw(
    connection: Connection, project_id: int, model_id: int, name: str, *, lock: bool = False
) -> Draw:
    """The review of this name; UnknownSubject names those there are."""
    found = find_draw(connection, project_id, model_id, name, lock=lock)
    if found is None:
        names = [one.name for one in draws(connection, project_id, model_id)]
        raise UnknownSubject(f"no review {name!r}; there are: {', '.join(names) or 'none yet'}")
    return found


def add_draw(
    connection: Connection, project_id: int, model_id: int, made: Draw, items: Sequence[Item]
) -> int:
    """Store a review with its items; its number."""
    values = {
        "project_id": project_id,
        "model_id": model_id,
        "name": made.name,
        "window_start": made.window.start,
        "window_end": made.window.end,
        "population": made.population,
        "plan": finite(made.plan),
        "drawn_by": made.drawn_by,
        "drawn_at": made.drawn_at,
    }
    number = connection.scalar(sa.insert(review_draw).values(values).returning(review_draw.c.id))
    columns = (
        *("project_id", "draw_id", "place", "request_id", "event_time", "leg", "deployment_id"),
        *("stratum", "probability", "raters"),
    )
    rows = [
        (
            *(project_id, number, item.place, item.request_id, item.event_time, item.leg),
            *(item.deployment_id, item.stratum, item.probability, _texts(item.raters)),
        )
        for item in items
    ]
    insert_rows(connection, review_item, columns, rows)
    return int(number or 0)


def items_of(connection: Connection, project_id: int, draw_id: int) -> list[Item]:
    """Items of a review in order of place; none once the raw requests have expired."""
    row = review_item.c
    query = (
        sa.select(review_item)
        .where(row.project_id == project_id, row.draw_id == draw_id)
        .order_by(row.place)
    )
    return [
        Item(
            *(found.place, found.request_id, found.event_time, found.leg, found.deployment_id),
            *(found.stratum, found.probability, tuple(found.raters)),
        )
        for found in connection.execute(query)
    ]


def ratings_of(
    connection: Connection, project_id: int, model_id: int, made: Draw
) -> list[StoredRating]:
    """The newest answer of every rater about every item that is theirs."""
    row, item = label.c, review_item.c
    together = sa.and_(
        row.request_id == item.request_id,
        row.event_time == item.event_time,
        row.leg == item.leg,
        row.source == sa.any_(item.raters),
    )
    query = (
        sa.select(item.place, row.label_name, row.source, row.value, row.text)
        .select_from(review_item.join(label, together))
        .where(item.project_id == project_id, item.draw_id == made.id)
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.label_name.in_(list(made.plan["signals"])), row.observed_at >= made.drawn_at)
        .order_by(row.observed_at, row.arrived_at, row.revision)
    )
    newest = {
        (found.place, found.label_name, found.source): (
            found.text if found.value is None else found.value
        )
        for found in connection.execute(query)
    }
    return [StoredRating(*key, value) for key, value in sorted(newest.items())]


def save_plan(connection: Connection, project_id: int, made: Draw, plan: Mapping[str, Any]) -> None:
    """Keep what the ratings of a review say now, with what they said before."""
    row = review_draw.c
    connection.execute(
        sa.update(review_draw)
        .where(row.project_id == project_id, row.id == made.id)
        .values(plan=finite(plan))
    )


def forget_items(connection: Connection, project_id: int, model_id: int, before: datetime) -> int:
    """Items name requests and expire with them; how many were forgotten."""
    mine = sa.select(review_draw.c.id).where(
        review_draw.c.project_id == project_id, review_draw.c.model_id == model_id
    )
    return connection.execute(
        sa.delete(review_item).where(
            review_item.c.project_id == project_id,
            review_item.c.draw_id.in_(mine),
            review_item.c.event_time < before,
        )
    ).rowcount


@contextmanager
def answered_requests(
    bulk: BulkConnections, project_id: int, model_id: int, leg: str, window: Window
) -> Iterator[Iterator[pa.Table]]:
    """Answered requests of a leg in a window, a piece at a time; every look sees one moment."""
    outcomes = ", ".join(str(int(one)) for one in ANSWERED)
    query = (
        f"select {_COLUMNS} from request_log where project_id = {int(project_id)}"
        f" and model_id = {int(model_id)} and leg = {literal(leg)}"
        f" and event_time >= {literal(window.start)} and event_time < {literal(window.end)}"
        f" and outcome in ({outcomes})"
    )
    with bulk.transaction() as cursor:
        execute(cursor, "set transaction isolation level repeatable read")
        yield (pa.Table.from_batches([batch]) for batch in read(cursor, query))


def _draw(found: Any) -> Draw:
    return Draw(
        id=found.id,
        name=found.name,
        window=Window(found.window_start, found.window_end),
        population=found.population,
        plan=found.plan,
        drawn_by=found.drawn_by,
        drawn_at=found.drawn_at,
    )


def _texts(values: Sequence[str]) -> str:
    """An array literal of texts."""
    return "{" + ",".join(json.dumps(value) for value in values) + "}"
