"""What servers told of themselves: kept a minute a row, added to, read back, forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from monitor.intake.server_metrics.deltas import SeriesState, Step
from monitor.intake.server_metrics.minutes import MinuteReading, Minutes, models_of, to_minutes
from monitor.intake.server_metrics.points import Amount, Buckets, MetricPoint
from monitor.intake.server_metrics.registry import BY_NAME
from monitor.store.tables import server_reading, server_series
from monitor.windows import Window

SERIES_KEPT, READINGS_KEPT = timedelta(days=2), timedelta(days=35)
MOST_SERIES = 5_000
"""Series of one source that are followed; more are counted and left out."""
FindModel = Callable[[Sequence[str]], int | None]


@dataclass(frozen=True)
class StoredReading:
    """One reading of one minute."""

    model_id: int
    reading: str
    minute: datetime
    source: str
    version: str
    sums: MinuteReading


@dataclass
class KeptMetrics:
    """What became of points: how many made readings, which were left out and why.

    `ignored` are metrics that stand for no reading.
    """

    readings: int = 0
    added: int = 0
    sent_again: int = 0
    ignored: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    unknown_models: list[str] = field(default_factory=list)

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count what was not used."""
        self.left_out[reason] = self.left_out.get(reason, 0) + count


def keep_metrics(
    connection: Connection,
    project_id: int,
    source: str,
    points: Sequence[MetricPoint],
    find_model: FindModel,
    whole_server: Sequence[int],
) -> KeptMetrics:
    """Add points to the readings of their minutes. The same points again change nothing.

    `find_model` gives the number of a model by the names a series has for it; `whole_server` are
    the models that readings without a model belong to.
    """
    answer = KeptMetrics()
    placed = _placed(points, find_model, whole_server, answer)
    # One at a time for a source: what a series said last is read, and then written.
    connection.execute(
        sa.text("select pg_advisory_xact_lock(hashtextextended(:what, 7103))"),
        {"what": f"{project_id}/{source}"},
    )
    followed = _followed(placed, answer)
    made = to_minutes(followed, _states(connection, project_id, source, followed))
    for reason, count in made.unused.items():
        answer.leave_out(reason, count)
    answer.added = made.steps[Step.ADDED]
    answer.sent_again = made.steps[Step.SENT_AGAIN]
    rows = _rows(made, find_model, whole_server)
    _save_states(connection, project_id, source, made)
    _add_readings(connection, project_id, source, rows)
    answer.readings = len(rows)
    return answer


def read_readings(
    connection: Connection,
    project_id: int,
    model_id: int,
    window: Window,
    readings: Sequence[str] | None = None,
) -> list[StoredReading]:
    """Readings of the minutes that begin in a window, oldest first."""
    row = server_reading.c
    query = (
        sa.select(server_reading)
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.minute >= window.start, row.minute < window.end)
        .order_by(row.minute, row.reading, row.source, row.version)
    )
    if readings is not None:
        query = query.where(row.reading.in_(list(readings)))
    return [
        StoredReading(
            each.model_id, each.reading, each.minute, each.source, each.version, _sums(each)
        )
        for each in connection.execute(query)
    ]


def newest_minute(connection: Connection, project_id: int, model_id: int) -> datetime | None:
    """The newest minute with a reading of a model."""
    row = server_reading.c
    found: datetime | None = connection.scalar(
        sa.select(sa.func.max(row.minute)).where(
            row.project_id == project_id, row.model_id == model_id
        )
    )
    return found


def forget_server_readings(connection: Connection, now: datetime) -> int:
    """Delete what is older than it is kept; how many readings."""
    connection.execute(sa.delete(server_series).where(server_series.c.at < now - SERIES_KEPT))
    old = sa.delete(server_reading).where(server_reading.c.minute < now - READINGS_KEPT)
    return connection.execute(old).rowcount


def _placed(
    points: Sequence[MetricPoint],
    find_model: FindModel,
    whole_server: Sequence[int],
    answer: KeptMetrics,
) -> list[MetricPoint]:
    """The points that belong to a model; the others are counted, with the reason."""
    placed = []
    for point in points:
        server = BY_NAME.get(point.name)
        names = models_of(point, server) if server is not None else ()
        if server is None:
            answer.ignored += 1
        elif names and find_model(names) is None:
            answer.leave_out("of a model that the project does not know; see also_known_as")
            name = names[0][:100]
            if name not in answer.unknown_models and len(answer.unknown_models) < 20:
                answer.unknown_models.append(name)
        elif not names and not whole_server:
            answer.leave_out("names no model: say which with ?model= or X-Inferwatch-Model")
        else:
            placed.append(point)
    return placed


def _followed(points: Sequence[MetricPoint], answer: KeptMetrics) -> list[MetricPoint]:
    names: dict[str, None] = dict.fromkeys(point.series for point in points)
    if len(names) <= MOST_SERIES:
        return list(points)
    followed = set(sorted(names)[:MOST_SERIES])
    answer.leave_out(f"more than {MOST_SERIES:,} series from one source", len(names) - MOST_SERIES)
    return [point for point in points if point.series in followed]


def _rows(
    made: Minutes, find_model: FindModel, whole_server: Sequence[int]
) -> dict[tuple[int, str, datetime, str], MinuteReading]:
    rows: dict[tuple[int, str, datetime, str], MinuteReading] = {}
    for key, reading in made.readings.items():
        number = find_model(key.models) if key.models else None
        for each in [number] if number is not None else whole_server:
            place = (each, key.reading, key.minute, key.version)
            before = rows.get(place)
            rows[place] = reading if before is None else before.plus(reading)
    return rows


def _states(
    connection: Connection, project_id: int, source: str, points: Iterable[MetricPoint]
) -> dict[tuple[str, str], SeriesState]:
    row = server_series.c
    wanted = list({point.series for point in points})
    query = sa.select(row.series, row.start_key, row.at, row.body).where(
        row.project_id == project_id, row.source == source, row.series.in_(wanted)
    )
    return {
        (each.series, each.start_key): SeriesState(each.at, _amount(each.body))
        for each in connection.execute(query)
    }


def _save_states(connection: Connection, project_id: int, source: str, made: Minutes) -> None:
    if not made.states:
        return
    rows = [
        {"project_id": project_id, "source": source, "series": series, "start_key": start,
         "at": state.at, "body": _amount_body(state.amount)}
        for (series, start), state in made.states.items()
    ]  # fmt: skip
    statement = insert(server_series)
    new = statement.excluded
    connection.execute(
        statement.on_conflict_do_update(
            constraint="pk_server_series", set_={"at": new.at, "body": new.body}
        ),
        rows,
    )


def _add_readings(
    connection: Connection,
    project_id: int,
    source: str,
    rows: Mapping[tuple[int, str, datetime, str], MinuteReading],
) -> None:
    if not rows:
        return
    row = server_reading.c
    there = sa.select(server_reading).where(
        row.project_id == project_id,
        row.source == source,
        row.model_id.in_(sorted({key[0] for key in rows})),
        row.reading.in_(sorted({key[1] for key in rows})),
        row.minute.in_(sorted({key[2] for key in rows})),
    )
    whole = dict(rows)
    for each in connection.execute(there):
        place = (each.model_id, each.reading, each.minute, each.version)
        if place in whole:
            whole[place] = _sums(each).plus(whole[place])
    statement = insert(server_reading)
    changed = {
        name: statement.excluded[name]
        for name in ("n", "total", "low", "high", "seconds", "buckets")
    }
    connection.execute(
        statement.on_conflict_do_update(constraint="pk_server_reading", set_=changed),
        [_reading_row(project_id, source, place, sums) for place, sums in whole.items()],
    )


def _reading_row(
    project_id: int, source: str, place: tuple[int, str, datetime, str], sums: MinuteReading
) -> dict[str, Any]:
    model_id, reading, minute, version = place
    return {
        "project_id": project_id, "model_id": model_id, "reading": reading, "minute": minute,
        "source": source, "version": version, "n": sums.n, "total": sums.total, "low": sums.low,
        "high": sums.high, "seconds": sums.seconds, "buckets": _buckets_body(sums.buckets),
    }  # fmt: skip


def _sums(row: Any) -> MinuteReading:
    buckets = _buckets(row.buckets)
    return MinuteReading(row.n, row.total, row.low, row.high, row.seconds, buckets)


def _amount_body(amount: Amount) -> dict[str, Any]:
    return {"n": amount.n, "total": amount.total, "buckets": _buckets_body(amount.buckets)}


def _amount(body: Mapping[str, Any]) -> Amount:
    return Amount(body["n"], body["total"], _buckets(body["buckets"]))


def _buckets_body(buckets: Buckets | None) -> Any:
    if buckets is None:
        return None
    return {"edges": list(buckets.edges), "counts": list(buckets.counts)}


def _buckets(body: Mapping[str, Any] | None) -> Buckets | None:
    return None if body is None else Buckets(tuple(body["edges"]), tuple(body["counts"]))
