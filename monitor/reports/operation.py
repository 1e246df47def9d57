"""How a service ran in a span: outcomes, reasons, times, cold starts, stages; from profiles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection, Engine

from monitor.checks.operation import operation_rates
from monitor.checks.serving import percentiles, serving_rates
from monitor.checks.stages import PathTimes, path_of
from monitor.contract import ColumnRole, Contract
from monitor.measurement import Outcome
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.serving import (
    log_totals,
    outcome_counts,
    reason_counts,
    serving_columns,
)
from monitor.profiles.serving_splits import OUTCOME_SPLIT, split_name, split_values
from monitor.profiles.standard_columns import column_holding
from monitor.records import LIVE_LEG, RequestOutcome
from monitor.reports.database import reading
from monitor.store.models import ModelContext, model_context
from monitor.store.profile_rows import StoredProfile, read_profiles, read_window
from monitor.windows import Grain, Window

HOURS_UNTIL = timedelta(days=3)
MAX_REASONS = 20
_UNITLESS = ""


@dataclass(frozen=True)
class TimeRow:
    """Percentiles of a column, of all requests (`of` empty) or of some: `cold_start = true`."""

    column: str
    of: str
    unit: str
    n: int
    missing: int
    percentiles: Mapping[str, Outcome]


@dataclass(frozen=True)
class Bucket:
    """Requests by outcome in one hour or UTC day."""

    at: datetime
    counts: Mapping[RequestOutcome, int]


@dataclass(frozen=True)
class OperationReport:
    """One model on one leg. `bucket` is hour or day; `reasons` are the most frequent, with counts.

    `path` is None without declared stages or without a request that has stage times.
    """

    window: Window
    leg: str
    deployment_ids: tuple[int, ...]
    n: int
    rates: Mapping[str, Outcome]
    objective: str
    reasons: tuple[tuple[RequestOutcome, str, int], ...]
    times: tuple[TimeRow, ...]
    buckets: tuple[Bucket, ...]
    bucket: str
    has_stages: bool
    path: PathTimes | None


def operation_of(
    engine: Engine,
    project_id: int,
    model_name: str,
    window: Window,
    deployment_ids: tuple[int, ...] = (),
) -> OperationReport | None:
    """The report of a model by its name, of live requests; None without a contract.

    Without deployments it is of all of them.
    """
    with reading(engine, project_id) as connection:
        context = model_context(connection, project_id, model_name, b"")
    if context is None:
        return None
    return operation(engine, project_id, context, window, deployment_ids=deployment_ids)


def operation(
    engine: Engine,
    project_id: int,
    context: ModelContext,
    window: Window,
    leg: str = LIVE_LEG,
    deployment_ids: Sequence[int] = (),
    targets: Mapping[str, float] | None = None,
) -> OperationReport:
    """The report of the whole hours that the span touches; `targets` in milliseconds by stage."""
    span = whole_hours(window)
    with reading(engine, project_id) as connection:
        stored = _served(connection, project_id, context.model_id, span, leg, deployment_ids)
    contract, whole = context.contract, merge([each.part for each in stored])
    seconds = (span.end - span.start).total_seconds()
    return OperationReport(
        window=span,
        leg=leg,
        deployment_ids=tuple(sorted({each.key.deployment_id for each in stored})),
        n=sum(outcome_counts(whole).values()),
        rates=serving_rates(whole, seconds) | operation_rates(whole, contract, seconds),
        objective=_objective(contract),
        reasons=_reasons(whole),
        times=tuple(_times(whole, contract)),
        buckets=_buckets(stored, by_hour=_by_hour(span)),
        bucket="hour" if _by_hour(span) else "day",
        has_stages=bool(contract.stages),
        path=path_of(whole, contract, dict(targets or {})) if contract.stages else None,
    )


def whole_hours(window: Window) -> Window:
    """The window with its ends moved outwards to whole hours."""
    start = Window.holding(window.start, Grain.HOUR).start
    last = Window.holding(window.end, Grain.HOUR)
    return Window(start, last.start if last.start == window.end else last.end)


def _by_hour(span: Window) -> bool:
    return span.end - span.start <= HOURS_UNTIL


def _served(
    connection: Connection,
    project_id: int,
    model_id: int,
    span: Window,
    leg: str,
    deployment_ids: Sequence[int],
) -> list[StoredProfile]:
    if _by_hour(span):
        found = read_profiles(connection, project_id, model_id, PartKind.SERVING, Grain.HOUR, span)
    else:
        found = read_window(connection, project_id, model_id, PartKind.SERVING, span)
    return [
        each
        for each in found
        if each.key.leg == leg and (not deployment_ids or each.key.deployment_id in deployment_ids)
    ]


def _objective(contract: Contract) -> str:
    wanted = contract.objective
    if wanted is None:
        return ""
    unit = contract.column(wanted.column).unit or _UNITLESS
    return f"answered with {wanted.column} of at most {wanted.at_most:g} {unit}".strip()


def _reasons(part: Part) -> tuple[tuple[RequestOutcome, str, int], ...]:
    told = [(outcome, text, n) for (outcome, text), n in reason_counts(part).items()]
    return tuple(sorted(told, key=lambda each: (-each[2], each[0], each[1]))[:MAX_REASONS])


def _times(part: Part, contract: Contract) -> list[TimeRow]:
    found = []
    cold = column_holding(contract, "cold_start")
    splits = [OUTCOME_SPLIT, *([cold.name] if cold is not None else [])]
    for name in serving_columns(contract):
        column = contract.column(name)
        if column.role is not ColumnRole.TIMING:
            continue
        unit = column.unit or _UNITLESS
        found.append(_row(part, name, name, "", unit))
        for by in splits:
            values = split_values(part, name, by)
            if by == OUTCOME_SPLIT and len(values) < 2:
                continue
            found += [
                _row(part, name, split_name(name, by, value), f"{by} = {value}", unit)
                for value in values
            ]
    return found


def _row(part: Part, column: str, name: str, of: str, unit: str) -> TimeRow:
    totals = log_totals(part, name)
    return TimeRow(column, of, unit, totals.n, totals.missing, percentiles(part, name))


def _buckets(stored: Sequence[StoredProfile], *, by_hour: bool) -> tuple[Bucket, ...]:
    counts: dict[datetime, dict[RequestOutcome, int]] = defaultdict(dict)
    for each in stored:
        start = each.key.window_start
        at = start if by_hour else Window.holding(start, Grain.DAY).start
        for outcome, n in outcome_counts(each.part).items():
            counts[at][outcome] = counts[at].get(outcome, 0) + n
    return tuple(Bucket(at, counts[at]) for at in sorted(counts))
