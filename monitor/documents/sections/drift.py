"""Drift of columns and of the whole: a reason to look, never a verdict on quality."""

from __future__ import annotations

from collections.abc import Callable

from monitor.documents.material import Material
from monitor.documents.numbers import (
    DAY,
    badness,
    chart_of,
    digest_table,
    measurements_of,
    say_counts,
)
from monitor.documents.parts import Drafting, Section
from monitor.reports.measurements import MeasurementRow

MOST_LINES = 5
METHODS = ("seasonal", "correlation", "classifier", "within_hours")
"""What the product alarms on; other statistics are stored for those who want them."""


def section(material: Material) -> Section:
    """Every judged column, and the columns that moved most."""
    draft = Drafting("drift", "Drift")
    draft.say(
        "Drift says that inputs or outputs differ from the baseline. It is a reason to look, not"
        " evidence that quality fell; the findings tell what was found when somebody looked."
    )
    rows = measurements_of(material, ("drift", "contrast"), DAY, METHODS)
    say_counts(draft, rows, DAY)
    seasonal = [row for row in rows if row.method == "seasonal"]
    chart = chart_of(material, "most_moved", "Columns that moved most, by day", _most(seasonal),
                     _name(material), MOST_LINES)  # fmt: skip
    if chart:
        draft.charts.append(chart)
    draft.tables.append(
        digest_table(material, "columns", "Drift by column and method, windows of a day", rows,
                     "No column was judged.")
    )  # fmt: skip
    return draft.done()


def _most(rows: list[MeasurementRow]) -> list[MeasurementRow]:
    worst: dict[str, float] = {}
    for row in rows:
        if row.value is not None:
            worst[row.column] = max(worst.get(row.column, 0.0), badness(row))
    kept = set(sorted(worst, key=lambda name: (-worst[name], name))[:MOST_LINES])
    return [row for row in rows if row.column in kept]


def _name(material: Material) -> Callable[[MeasurementRow], str]:
    several = len(material.deployments) > 1

    def named(row: MeasurementRow) -> str:
        return f"{row.column} ({material.titles(row.deployment_ids)})" if several else row.column

    return named
