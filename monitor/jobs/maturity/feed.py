"""Measures the label feed of the live leg for each day: silence, and what came of what was due."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.checks.maturity.delay_curve import DelayCurve
from monitor.checks.maturity.feed import arrival_ratio, expected_labels, silence
from monitor.checks.registry import CheckName, entry
from monitor.contract_quality import Label
from monitor.jobs.base import JobContext
from monitor.jobs.grouping import WHOLE
from monitor.jobs.maturity.known import HOUR, Piece
from monitor.jobs.maturity.pieces import Subject, by_leg_and_segment
from monitor.measurement import Measurement, Outcome
from monitor.measurement import Subject as MeasuredSubject
from monitor.profiles.label_delays import ALL_CLASSES
from monitor.records import LIVE_LEG
from monitor.store.delay_curves import CurveKey, read_curves
from monitor.store.label_feed import labels_observed, newest_label
from monitor.store.tables import measurement as measurement_table
from monitor.windows import Window

LOOK_BACK = timedelta(days=28)


def feed_measurements(
    connection: Connection,
    context: JobContext,
    label: Label,
    days: Sequence[Window],
    pieces: Mapping[Subject, list[Piece]],
    learned: Mapping[CurveKey, DelayCurve],
) -> Iterator[Measurement]:
    """`silence` and `arrival_ratio` of each day that had requests before its end."""
    mine = by_leg_and_segment(pieces).get((LIVE_LEG, WHOLE), [])
    if not mine or not days:
        return
    numbers = tuple(sorted(d for leg, segment, d in pieces if (leg, segment) == (LIVE_LEG, WHOLE)))
    subject = MeasuredSubject(numbers, LIVE_LEG)
    known = _known_days(connection, context, days[0].start)
    for day in days:
        before = [piece for piece in mine if piece.window.start < day.end]
        if not before:
            continue
        first = min(piece.window.start for piece in before)
        yield _measurement(context, subject, day, "silence",
                           _silence(connection, context, label, day.end, first))  # fmt: skip
        curve = _curve_before(connection, context, day.start, learned)
        expected = _expected(before, day, curve)
        observed = labels_observed(
            connection, context.project_id, context.model_id, label.name, LIVE_LEG, day
        )
        outcome = arrival_ratio(observed, expected, known[-LOOK_BACK.days :])
        yield _measurement(context, subject, day, "arrival_ratio", outcome)
        if expected is not None:
            known.append((observed, expected))


def _silence(
    connection: Connection, context: JobContext, label: Label, end: datetime, first: datetime
) -> Outcome:
    newest = newest_label(connection, context.project_id, context.model_id, label.name, end)
    since = newest if newest is not None else first
    return silence((end - since) / HOUR, newest=newest.isoformat() if newest else None)


def _curve_before(
    connection: Connection,
    context: JobContext,
    start: datetime,
    learned: Mapping[CurveKey, DelayCurve],
) -> DelayCurve | None:
    """The curve known before the day, so that a feed that failed is not its own yardstick."""
    key = CurveKey(LIVE_LEG, WHOLE, ALL_CLASSES)
    stored = read_curves(connection, context.project_id, context.model_id, start, segment_id=WHOLE)
    return stored[key].curve if key in stored else learned.get(key)


def _expected(pieces: Sequence[Piece], day: Window, curve: DelayCurve | None) -> float | None:
    if curve is None or not curve.settled:
        return None
    cohorts = [((day.end - piece.middle) / HOUR, piece.by_class[ALL_CLASSES].n) for piece in pieces]
    return expected_labels(cohorts, curve, (day.end - day.start) / HOUR)


def _known_days(
    connection: Connection, context: JobContext, before: datetime
) -> list[tuple[int, float]]:
    """Observed and expected labels of measured days before a moment, in time order."""
    row = measurement_table.c
    query = (
        sa.select(row.window_start, row.detail)
        .where(row.project_id == context.project_id, row.model_id == context.model_id)
        .where(row.check_name == CheckName.LABEL_FEED.value, row.method == "arrival_ratio")
        .where(row.window_end > before - LOOK_BACK, row.window_end <= before)
        .order_by(row.window_start, row.known_at)
    )
    newest = {found.window_start: found.detail for found in connection.execute(query)}
    return [
        (int(detail["observed"]), float(detail["expected"]))
        for detail in newest.values()
        if detail.get("expected") is not None
    ]


def _measurement(
    context: JobContext, subject: MeasuredSubject, day: Window, method: str, outcome: Outcome
) -> Measurement:
    known = entry(CheckName.LABEL_FEED, method)
    return Measurement(
        check=known.check.value,
        method=known.method,
        method_version=known.version,
        subject=subject,
        window=day,
        outcome=outcome,
        unit=known.unit,
        direction=known.direction,
        known_at=context.now,
    )
