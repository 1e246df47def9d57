"""Calibration: whether a score of 0.3 comes true in three of ten cases."""

from __future__ import annotations

from monitor.documents.material import Material
from monitor.documents.numbers import (
    DAY,
    MONTH,
    chart_of,
    digest_table,
    measurements_of,
    say_counts,
    window_table,
)
from monitor.documents.parts import Drafting, Section


def section(material: Material) -> Section:
    """Errors, tests and changes."""
    draft = Drafting("calibration", "Calibration and confidence")
    months = measurements_of(material, ("calibration",), MONTH)
    days = measurements_of(material, ("calibration", "confidence"), DAY)
    say_counts(draft, days, DAY)
    errors = [row for row in days if row.method == "debiased_error"]
    chart = chart_of(material, "error", "Calibration error by day, corrected for chance", errors)
    if chart:
        draft.charts.append(chart)
    draft.tables.append(
        window_table(material, "months", "Calibration by month of the prediction", months,
                     "No month was judged.")
    )  # fmt: skip
    draft.tables.append(
        digest_table(material, "days", "Calibration and confidence by day", days,
                     "No day was judged.")
    )  # fmt: skip
    return draft.done()
