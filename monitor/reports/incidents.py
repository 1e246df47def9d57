"""Drift incidents as people read them: the list of a model, and one with all that is known of it.

Deployments are told by name, columns the strongest first. What was seen around an incident is told
in the words that were stored when it was seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.checks.promise.firing import Firing
from monitor.checks.promise.incidents import ColumnEpisode
from monitor.errors import UnknownSubject
from monitor.reports.database import reading
from monitor.reports.measurements import finite
from monitor.reports.paging import PAGE_SIZE, Page, cut_page
from monitor.reports.series import deployment_titles
from monitor.store.incidents import StoredIncident, Verdict, find_incident, read_incidents
from monitor.store.tables import alert, incident, model

VERDICTS = {
    Verdict.FAULT: "a fault",
    Verdict.ADOPT: "the new normal",
    Verdict.FALSE_ALARM: "a false alarm",
}
VIEWS = {
    "omnibus": "whole distribution",
    "location": "location",
    "spread": "spread",
    "cell": "largest cell",
    "contrast": "deployments against each other",
    "correlation": "correlation of columns",
    "classifier": "all columns together",
}
_SUFFIXES = (" (missing)", " (derived)")


@dataclass(frozen=True)
class Strongest:
    """The strongest firing of a column: its view in words, its window, its p-value and level."""

    view: str
    hours: int
    end: datetime
    p_value: float
    level: float
    effect: float
    n: int
    segment: str


@dataclass(frozen=True)
class ColumnPart:
    """One column of an incident."""

    name: str
    first: datetime
    last: datetime
    until: datetime
    firings: int
    strongest: Strongest
    deployments: tuple[str, ...]
    segments: tuple[str, ...]


@dataclass(frozen=True)
class MovedCell:
    """A cell in the column's own units: the share of rows expected of it, and the share seen."""

    label: str
    expected: float
    seen: float


@dataclass(frozen=True)
class MovedColumn:
    """What moved in a column's strongest window; `distance_sd` in baseline standard deviations."""

    name: str
    n: int
    distance_sd: float | None
    cells: tuple[MovedCell, ...]


@dataclass(frozen=True)
class Judgement:
    """What a person said of an incident."""

    verdict: Verdict
    by: str
    at: datetime | None
    comment: str | None

    @property
    def words(self) -> str:
        """`a fault`."""
        return VERDICTS[self.verdict]


@dataclass(frozen=True)
class IncidentFacts:
    """One incident. `alerts` are the numbers of the alerts that tell of it, the newest last."""

    id: int
    model: str
    leg: str
    is_open: bool
    opened: datetime
    last: datetime
    until: datetime
    closed_at: datetime | None
    leading: str
    columns: tuple[ColumnPart, ...]
    sentences: tuple[str, ...]
    moved: tuple[MovedColumn, ...]
    known_at: datetime | None
    judgement: Judgement | None
    alerts: tuple[int, ...]

    @property
    def state(self) -> str:
        """open, or closed."""
        return "open" if self.is_open else "closed"

    @property
    def firings(self) -> int:
        """Windows that fired, of all columns."""
        return sum(one.firings for one in self.columns)

    @property
    def deployments(self) -> tuple[str, ...]:
        """Deployments that its columns name."""
        return tuple(sorted({name for one in self.columns for name in one.deployments}))

    @property
    def segments(self) -> tuple[str, ...]:
        """Segments that its columns name."""
        return tuple(sorted({name for one in self.columns for name in one.segments}))


def incidents(
    engine: Engine,
    project_id: int,
    model_id: int,
    every: bool = True,
    number: int = 1,
    size: int = PAGE_SIZE,
) -> Page[IncidentFacts]:
    """A page of a model's incidents, the newest first; without `every` only those that are open or
    that nobody has judged."""
    with reading(engine, project_id) as connection:
        found = read_incidents(connection, project_id, model_id)
        wanted = [one for one in reversed(found) if every or one.open or one.verdict is None]
        page = cut_page(tuple(wanted), number, size)
        facts = _facts_of(connection, project_id, model_id, page.rows)
        return Page(facts, page.total, page.number, page.size)


def incident_facts(engine: Engine, project_id: int, number: int) -> IncidentFacts:
    """One incident; raises UnknownSubject when the project has none of this number."""
    with reading(engine, project_id) as connection:
        found = find_incident(connection, project_id, number)
        model_id = connection.scalar(
            sa.select(incident.c.model_id).where(
                incident.c.project_id == project_id, incident.c.id == number
            )
        )
        return _facts_of(connection, project_id, int(model_id or 0), [found])[0]


def incident_of_alert(
    engine: Engine, project_id: int, labels: tuple[tuple[str, str], ...]
) -> IncidentFacts | None:
    """The incident that an alert with these labels tells of; None when it tells of none."""
    number = dict(labels).get("incident", "")
    if not (number.isascii() and number.isdigit() and len(number) <= 18):
        return None
    try:
        return incident_facts(engine, project_id, int(number))
    except UnknownSubject:
        return None


def column_of(name: str, known: Iterable[str]) -> str | None:
    """The contract's column that a watched one stands for (`wind (missing)`, `note.length`)."""
    columns = set(known)
    for suffix in _SUFFIXES:
        name = name if name in columns else name.removesuffix(suffix)
    stem = name if name in columns else name.rpartition(".")[0]
    return stem if stem in columns else None


def _facts_of(
    connection: Connection, project_id: int, model_id: int, found: Iterable[StoredIncident]
) -> tuple[IncidentFacts, ...]:
    rows = list(found)
    name = connection.scalar(
        sa.select(model.c.name).where(model.c.project_id == project_id, model.c.id == model_id)
    )
    titles = deployment_titles(connection, project_id, model_id)
    alerts = _alerts_of(connection, project_id, [one.id for one in rows])
    return tuple(_facts(one, str(name), titles, alerts.get(one.id, ())) for one in rows)


def _alerts_of(
    connection: Connection, project_id: int, numbers: list[int]
) -> dict[int, tuple[int, ...]]:
    label = alert.c.body["labels"]["incident"].astext
    query = sa.select(alert.c.id, label.label("incident")).where(
        alert.c.project_id == project_id, label.in_([str(number) for number in numbers])
    )
    found: dict[int, list[int]] = defaultdict(list)
    for row in connection.execute(query.order_by(alert.c.id)):
        found[int(row.incident)].append(row.id)
    return {number: tuple(ids) for number, ids in found.items()}


def _facts(
    one: StoredIncident, name: str, titles: Mapping[int, str], alerts: tuple[int, ...]
) -> IncidentFacts:
    context = one.context or {}
    known_at = context.get("known_at")
    return IncidentFacts(
        id=one.id,
        model=name,
        leg=one.leg,
        is_open=one.open,
        opened=one.incident.opened,
        last=one.incident.last,
        until=one.incident.until,
        closed_at=one.closed_at,
        leading=one.leading,
        columns=_columns(one.incident.columns, titles),
        sentences=tuple(str(text) for text in context.get("sentences", ())),
        moved=tuple(_moved(each) for each in context.get("moved", ())),
        known_at=datetime.fromisoformat(known_at) if known_at else None,
        judgement=_judgement(one),
        alerts=alerts,
    )


def _columns(
    found: Mapping[str, ColumnEpisode], titles: Mapping[int, str]
) -> tuple[ColumnPart, ...]:
    parts = [
        ColumnPart(
            name=name,
            first=part.first,
            last=part.last,
            until=part.until,
            firings=part.firings,
            strongest=_strongest(part.strongest),
            deployments=tuple(titles.get(d, f"deployment {d}") for d in part.deployments),
            segments=part.segments,
        )
        for name, part in found.items()
    ]
    return tuple(sorted(parts, key=lambda part: (_weakness(part.strongest), part.name)))


def _weakness(one: Strongest) -> float:
    return one.p_value / one.level if one.level > 0 else float("inf")


def _strongest(one: Firing) -> Strongest:
    view = VIEWS.get(one.view, one.view)
    return Strongest(
        view, one.scale, one.end, one.p_value, one.level, one.effect, one.n, one.segment
    )


def _moved(kept: Mapping[str, Any]) -> MovedColumn:
    cells = tuple(
        MovedCell(str(one["label"]), float(one["share_then"]), float(one["share_now"]))
        for one in kept.get("cells", ())
    )
    distance = finite(kept.get("distance_sd"))
    return MovedColumn(str(kept["column"]), int(kept.get("n", 0)), distance, cells)


def _judgement(one: StoredIncident) -> Judgement | None:
    if one.verdict is None:
        return None
    return Judgement(one.verdict, one.verdict_by or "", one.verdict_at, one.verdict_comment)
