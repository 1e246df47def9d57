"""What a model's servers told of themselves over a span, reading by reading and source by source.

Context for what requests show. A mean is a sum over a number; a quantile is told as the edges of
the bucket it lies in, and nothing finer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.engine import Engine

from monitor.intake.server_metrics.minutes import MinuteReading, value_of
from monitor.reports.database import reading as reading_database
from monitor.server_buckets import Between, quantile_between
from monitor.server_readings import SERVER_READINGS, ReadingKind, ServerReading
from monitor.store.scrape_targets import TargetState, target_states
from monitor.store.server_readings import StoredReading, newest_minute, read_readings
from monitor.windows import Window

MINUTE = timedelta(minutes=1)
SHOWN_QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True)
class ServerLine:
    """One reading of one source over a span.

    `value`: the mean of a level, of times and of a ratio; of events their number. `rate` is
    events or times a second. `quantiles` are pairs of the quantile and its bucket.
    """

    reading: ServerReading
    source: str
    version: str
    value: float | None
    low: float | None
    high: float | None
    newest: float | None
    rate: float | None
    n: float
    minutes: int
    until: datetime
    quantiles: tuple[tuple[float, Between], ...] = ()


@dataclass(frozen=True)
class ServerReport:
    """All lines of a span, and what is read where."""

    window: Window | None
    lines: tuple[ServerLine, ...]
    targets: tuple[TargetState, ...]


@dataclass(frozen=True)
class ReadingPoint:
    """One minute of one reading of one source, for charts."""

    at: datetime
    source: str
    value: float


def server_report(
    engine: Engine, project_id: int, model_id: int, model: str, length: timedelta,
    until: datetime | None = None,
) -> ServerReport:  # fmt: skip
    """The newest `length` of readings, or that up to a moment; no window when there is none."""
    with reading_database(engine, project_id) as connection:
        targets = tuple(
            each for each in target_states(connection, project_id) if model in each.target.models
        )
        newest = newest_minute(connection, project_id, model_id)
        if newest is None:
            return ServerReport(None, (), targets)
        end = until or newest + MINUTE
        window = Window(end - length, end)
        rows = read_readings(connection, project_id, model_id, window)
    return ServerReport(window, tuple(lines_of(rows)), targets)


def reading_points(
    engine: Engine, project_id: int, model_id: int, name: str, window: Window
) -> tuple[ReadingPoint, ...]:
    """A reading minute by minute, versions of one source put together."""
    with reading_database(engine, project_id) as connection:
        rows = read_readings(connection, project_id, model_id, window, [name])
    sums: dict[tuple[datetime, str], MinuteReading] = {}
    for row in rows:
        place = (row.minute, row.source)
        sums[place] = sums[place].plus(row.sums) if place in sums else row.sums
    kind = SERVER_READINGS[name].kind
    found = [
        ReadingPoint(at, source, value)
        for (at, source), each in sums.items()
        if (value := value_of(kind, each)) is not None
    ]
    return tuple(sorted(found, key=lambda each: (each.source, each.at)))


def lines_of(rows: Sequence[StoredReading]) -> list[ServerLine]:
    """Rows of minutes, oldest first, put together; in the order of the table of readings."""
    groups: dict[tuple[str, str, str], list[StoredReading]] = defaultdict(list)
    for row in rows:
        groups[row.reading, row.source, row.version].append(row)
    order = {name: place for place, name in enumerate(SERVER_READINGS)}
    keys = sorted((key for key in groups if key[0] in order), key=lambda k: (order[k[0]], k[1:]))
    return [_line(groups[key]) for key in keys]


def _line(rows: Sequence[StoredReading]) -> ServerLine:
    whole = rows[0].sums
    for row in rows[1:]:
        whole = whole.plus(row.sums)
    reading = SERVER_READINGS[rows[0].reading]
    is_level = reading.kind is ReadingKind.LEVEL
    counted = whole.total if reading.kind is ReadingKind.EVENTS else whole.n
    return ServerLine(
        reading=reading,
        source=rows[0].source,
        version=rows[0].version,
        value=value_of(reading.kind, whole),
        low=whole.low,
        high=whole.high,
        newest=value_of(reading.kind, rows[-1].sums),
        rate=None if is_level or whole.seconds <= 0 else counted / whole.seconds,
        n=whole.n,
        minutes=len(rows),
        until=rows[-1].minute + MINUTE,
        quantiles=_quantiles(whole),
    )


def _quantiles(whole: MinuteReading) -> tuple[tuple[float, Between], ...]:
    buckets = whole.buckets
    if buckets is None:
        return ()
    found = ((q, quantile_between(buckets.edges, buckets.counts, q)) for q in SHOWN_QUANTILES)
    return tuple((q, between) for q, between in found if between is not None)
