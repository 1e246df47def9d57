"""What a model's servers told around an alert, and which areas to measure for a slow one.

Jobs put it into messages and reports onto pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from monitor.checks.context.moved import Moved, movement_of
from monitor.checks.context.symptoms import Movement, areas_to_measure, fitting
from monitor.checks.registry import CheckName
from monitor.contract import ColumnRole, Contract
from monitor.fields import standard_field
from monitor.intake.server_metrics.minutes import value_of
from monitor.server_readings import SERVER_READINGS, ReadingKind
from monitor.store.server_readings import StoredReading, read_readings
from monitor.windows import Window

BEFORE = timedelta(hours=1)
LONGEST_NOW = timedelta(hours=6)
MOST_TOLD, MOST_SYMPTOMS = 5, 3
_TAILS, _MEDIANS = frozenset({"p90", "p95", "p99"}), frozenset({"p50"})
_CALLED = {"first_token_time.arrival": "first_token_time", "first_token_time.server":
           "first_token_time", "first_token_time.client": "first_token_time"}  # fmt: skip


@dataclass(frozen=True)
class ServerContext:
    """Readings that stand apart from the hour before, in words, and areas to measure."""

    server: tuple[str, ...] = ()
    look_at: tuple[str, ...] = ()


NO_SERVER_CONTEXT = ServerContext()


def server_context(
    connection: Connection,
    project_id: int,
    model_id: int,
    contract: Contract | None,
    labels: Mapping[str, str],
    judged: Window,
    began: datetime | None = None,
) -> ServerContext:
    """The readings around an alert, and for a slow model the symptoms that fit.

    `judged` is the alert's newest judged window, `began` the end of its first breaching one.
    """
    start = max((began or judged.end) - (judged.end - judged.start), judged.end - LONGEST_NOW)
    span = Window(start - BEFORE, judged.end)
    moved = movements(read_readings(connection, project_id, model_id, span), start)
    told = tuple(_words(name, source, each) for (name, source), each in _strongest(moved))
    if contract is None or not is_about_latency(labels, contract):
        return ServerContext(told)
    signals = signals_of(moved) | own_signal(labels, contract)
    return ServerContext(told, areas_to_measure(fitting(signals), MOST_SYMPTOMS))


def movements(rows: Iterable[StoredReading], start: datetime) -> dict[tuple[str, str], Moved]:
    """Each reading of each source, its minutes from `start` on beside those before."""
    series: dict[tuple[str, str], dict[datetime, StoredReading]] = defaultdict(dict)
    for row in rows:
        known = series[row.reading, row.source].get(row.minute)
        series[row.reading, row.source][row.minute] = row if known is None else _both(known, row)
    found = {}
    for (name, source), minutes in series.items():
        kind = SERVER_READINGS[name].kind
        values = [(at, value_of(kind, row.sums)) for at, row in sorted(minutes.items())]
        known_values = [(at, value) for at, value in values if value is not None]
        moved = movement_of(
            [each for each in known_values if each[0] < start],
            [each for each in known_values if each[0] >= start],
        )
        if name == "restarts":
            moved = _restarts(known_values, start)
        if moved is not None:
            found[name, source] = moved
    return found


def signals_of(moved: Mapping[tuple[str, str], Moved]) -> dict[str, Movement]:
    """One movement a signal; a signal on which the sources disagree is not known."""
    found: dict[str, set[Movement]] = defaultdict(set)
    for (name, _), each in moved.items():
        found[_CALLED.get(name, name)].add(each.movement)
    apart: dict[str, Movement] = {}
    for name, movements_of_it in found.items():
        moving = movements_of_it - {Movement.SAME}
        if len(moving) < 2:
            apart[name] = next(iter(moving), Movement.SAME)
    return apart


def own_signal(labels: Mapping[str, str], contract: Contract) -> dict[str, Movement]:
    """What the alert itself says: of latency its middle or tail, else the field's own signal."""
    name = labels.get("column", "")
    field = _field_of(contract, name)
    method = labels.get("method", "")
    if field in ("latency", ""):
        return (
            {"tail": Movement.UP} if method in _TAILS
            else {"median": Movement.UP} if method in _MEDIANS else {}
        )  # fmt: skip
    return {field: Movement.UP}


def is_about_latency(labels: Mapping[str, str], contract: Contract) -> bool:
    """Whether an alert is about how long something takes."""
    if labels.get("check") != CheckName.SERVING.value:
        return False
    held = {column.name: column for column in contract.columns}.get(labels.get("column", ""))
    return held is not None and held.role is ColumnRole.TIMING


def _field_of(contract: Contract, name: str) -> str:
    column = {each.name: each for each in contract.columns}.get(name)
    field = (column.field or column.name) if column is not None else ""
    return field if standard_field(field) is not None else ""


def _restarts(values: list[tuple[datetime, float]], start: datetime) -> Moved | None:
    """A restart is rare: one of them is news, however few minutes are known before."""
    now = [at for at, value in values if at >= start and value > 0]
    return Moved(Movement.UP, 0.0, float(len(now)), now[0]) if now else None


def _strongest(
    moved: Mapping[tuple[str, str], Moved],
) -> list[tuple[tuple[str, str], Moved]]:
    apart = [item for item in moved.items() if item[1].movement is not Movement.SAME]
    order = {name: place for place, name in enumerate(SERVER_READINGS)}
    return sorted(apart, key=lambda item: (order[item[0][0]], item[0][1]))[:MOST_TOLD]


def _words(name: str, source: str, moved: Moved) -> str:
    unit = SERVER_READINGS[name].unit
    kind = SERVER_READINGS[name].kind
    each = " a minute" if kind is ReadingKind.EVENTS else ""
    since = f", since {moved.since:%Y-%m-%d %H:%M} UTC" if moved.since is not None else ""
    return f"{name} {moved.before:,.4g} → {moved.now:,.4g} {unit}{each} ({source}{since})"


def _both(one: StoredReading, other: StoredReading) -> StoredReading:
    sums = one.sums.plus(other.sums)
    return StoredReading(one.model_id, one.reading, one.minute, one.source, "", sums)
