"""Reads what the jobs measured: the demo's findings come from here and the sender's counts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from alerts.model import AlertState
from monitor.checks.registry import CheckName
from monitor.demo.fault import FALSE_FAULT_PROBABILITY, ContrastTest
from monitor.demo.summary import AlertTotals, ColumnDrift, MonthQuality
from monitor.measurement import MeasurementState
from monitor.records import LIVE_LEG
from monitor.reports.measurements import Filter, MeasurementRow, latest, row_of
from monitor.store.tables import alert, alert_transition, baseline, delivery, measurement
from monitor.windows import Window

MONTH_AT_LEAST = timedelta(days=27)
DRIFT_STATISTIC = "psi"
COLUMNS_TOLD = 5
WHOLE = 0
_MEASURED = (MeasurementState.MEASURED.value,)


def surprising_contrasts(
    connection: Connection,
    project_id: int,
    model_id: int,
    window: Window,
    columns: Collection[str],
) -> tuple[list[ContrastTest], int]:
    """Contrasts with a p-value below FALSE_FAULT_PROBABILITY, and how many were measured at all."""
    newest = _newest_contrasts(project_id, model_id, window, columns).subquery()
    measured = sa.select(newest).where(newest.c.p_log10.is_not(None)).subquery()
    made = connection.scalar(sa.select(sa.func.count()).select_from(measured)) or 0
    query = sa.select(measured).where(measured.c.p_log10 < math.log10(FALSE_FAULT_PROBABILITY))
    found = [
        ContrastTest(
            deployment_id=row.deployment_ids[0],
            column=row.column_name,
            window=Window(row.window_start, row.window_end),
            excess=row.value,
            p_log10=row.p_log10,
        )
        for row in connection.execute(query)
    ]
    return found, made


def _newest_contrasts(
    project_id: int, model_id: int, window: Window, columns: Collection[str]
) -> sa.Select[Any]:
    """Newest revisions, without their details: those of a year are a hundred megabytes."""
    row = measurement.c
    subject = (row.deployment_ids, row.column_name, row.window_start, row.window_end)
    p_log10 = sa.cast(row.detail["p_log10"].astext, sa.Double).label("p_log10")
    return (
        sa.select(*subject, row.value, p_log10)
        .distinct(*subject)
        .where(
            row.project_id == project_id,
            row.model_id == model_id,
            row.check_name == CheckName.CONTRAST.value,
            row.leg == LIVE_LEG,
            row.segment_id == WHOLE,
            row.column_name.in_(columns),
            sa.func.cardinality(row.deployment_ids) == 1,
            row.window_end > window.start,
            row.window_start < window.end,
        )
        .order_by(*subject, row.known_at.desc())
    )


def month_qualities(
    connection: Connection, project_id: int, model_id: int, window: Window, zone: str
) -> tuple[MonthQuality, ...]:
    """Quality and calibration of every month, all deployments of the month together."""
    wanted = Filter(checks=(CheckName.QUALITY.value, CheckName.CALIBRATION.value))
    found: dict[str, dict[str, MeasurementRow]] = defaultdict(dict)
    for row in _monthly(connection, project_id, model_id, window, wanted):
        measures = found[_month(row.window, zone)]
        known = measures.get(row.method)
        if known is None or len(row.deployment_ids) > len(known.deployment_ids):
            measures[row.method] = row
    return tuple(_quality(month, found[month]) for month in sorted(found))


def worst_drift(
    connection: Connection,
    project_id: int,
    model_id: int,
    window: Window,
    zone: str,
    columns: Collection[str],
) -> tuple[ColumnDrift, ...]:
    """Each column's worst window against any baseline, the columns that moved most first.

    Months are told where drift is measured by month, else days. A window is judged by all
    deployments that served it together.
    """
    names = _baseline_names(connection, project_id, model_id)
    rows = _worst_rows(connection, project_id, model_id, window, columns)
    months = [row for row in rows if row.window.end - row.window.start >= MONTH_AT_LEAST]
    worst: dict[str, MeasurementRow] = {}
    for row in sorted(months or rows, key=lambda row: -(row.value or 0.0)):
        worst.setdefault(row.column, row)
    return tuple(
        ColumnDrift(
            column=row.column,
            statistic=row.method,
            value=row.value or 0.0,
            unit=row.unit,
            window=_month(row.window, zone) if months else _day(row.window, zone),
            baseline=names.get(row.baseline_id or 0, "a baseline"),
        )
        for row in list(worst.values())[:COLUMNS_TOLD]
    )


def _worst_rows(
    connection: Connection, project_id: int, model_id: int, window: Window, columns: Collection[str]
) -> list[MeasurementRow]:
    """Per column and kind of window, the largest value."""
    wanted = Filter((CheckName.DRIFT.value,), (DRIFT_STATISTIC,), states=_MEASURED)
    newest = latest(project_id, model_id, window, wanted).subquery()
    served = sa.func.cardinality(newest.c.deployment_ids)
    most = sa.func.max(served).over(partition_by=[newest.c.window_start, newest.c.window_end])
    long = newest.c.window_end - newest.c.window_start >= MONTH_AT_LEAST
    judged = sa.select(newest, (served == most).label("together"), long.label("long")).subquery()
    query = (
        sa.select(judged)
        .distinct(judged.c.column_name, judged.c.long)
        .where(judged.c.together, judged.c.column_name.in_(columns))
        .order_by(judged.c.column_name, judged.c.long, judged.c.value.desc())
    )
    return [row_of(row) for row in connection.execute(query)]


def alert_totals(connection: Connection, project_id: int, verified: int) -> AlertTotals:
    """Episodes that began to fire, by rule, and what became of the messages they owed."""
    opened = (
        sa.select(alert.c.rule, sa.func.count().label("n"))
        .join(alert_transition, alert_transition.c.alert_id == alert.c.id)
        .where(
            alert.c.project_id == project_id,
            alert_transition.c.to_state == AlertState.FIRING.value,
            alert_transition.c.from_state.in_(
                (AlertState.OK.value, AlertState.PENDING.value, AlertState.RESOLVED.value)
            ),
        )
        .group_by(alert.c.rule)
    )
    by_rule = Counter({row.rule: row.n for row in connection.execute(opened)})
    states = (
        sa.select(delivery.c.state, sa.func.count().label("n"))
        .where(delivery.c.project_id == project_id)
        .group_by(delivery.c.state)
    )
    counts = {row.state: row.n for row in connection.execute(states)}
    sent = counts.pop("sent", 0)
    return AlertTotals(by_rule.total(), dict(by_rule), sent, sum(counts.values()), verified)


def _monthly(
    connection: Connection, project_id: int, model_id: int, window: Window, wanted: Filter
) -> list[MeasurementRow]:
    newest = latest(project_id, model_id, window, wanted).subquery()
    length = newest.c.window_end - newest.c.window_start
    query = sa.select(newest).where(length >= MONTH_AT_LEAST)
    return [row_of(row) for row in connection.execute(query)]


def _quality(month: str, measures: dict[str, MeasurementRow]) -> MonthQuality:
    auc = measures.get("auc")
    coverage = measures.get("label_coverage")
    return MonthQuality(
        month=month,
        requests=coverage.n if coverage is not None else 0,
        label_coverage=_value(coverage),
        auc=_value(auc),
        auc_low=auc.low if auc is not None else None,
        auc_high=auc.high if auc is not None else None,
        brier=_value(measures.get("brier")),
        calibration_error=_value(measures.get("debiased_error")),
    )


def _value(row: MeasurementRow | None) -> float | None:
    return row.value if row is not None else None


def _day(window: Window, zone: str) -> str:
    return f"{window.start.astimezone(ZoneInfo(zone)):%Y-%m-%d}"


def _month(window: Window, zone: str) -> str:
    middle = window.start + (window.end - window.start) / 2
    return f"{middle.astimezone(ZoneInfo(zone)):%Y-%m}"


def _baseline_names(connection: Connection, project_id: int, model_id: int) -> dict[int, str]:
    query: sa.Select[Any] = sa.select(baseline.c.id, baseline.c.name).where(
        baseline.c.project_id == project_id, baseline.c.model_id == model_id
    )
    return {row.id: row.name for row in connection.execute(query)}
