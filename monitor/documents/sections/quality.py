"""Quality on labels: by day of the prediction, with how much of the labels had come."""

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
from monitor.documents.parts import Drafting, Section, Voice

CHECKS = ("quality", "quality_change", "label_feed", "estimate")
MAIN = ("accuracy", "auc", "mae", "rmse", "macro_f1", "ndcg_10")


def section(material: Material) -> Section:
    """Months in full, days as a digest, estimates beside what came out."""
    draft = Drafting("quality", "Quality")
    if not material.contract.body.get("label"):
        draft.say("The contract declares no label: quality was not measured.", Voice.MISSING)
        return draft.done()
    months = measurements_of(material, ("quality",), MONTH)
    days = measurements_of(material, CHECKS, DAY)
    say_counts(draft, days, DAY)
    known = {row.method for row in days if row.check == "quality"}
    main = next((method for method in MAIN if method in known), None)
    chart = main and chart_of(
        material, "by_day", f"{main.replace('_', ' ')} by day of the prediction",
        [row for row in days if row.check == "quality" and row.method == main],
    )  # fmt: skip
    if chart:
        draft.charts.append(chart)
    draft.tables.append(
        window_table(material, "months", "Quality by month of the prediction", months,
                     "No month was judged.")
    )  # fmt: skip
    draft.tables.append(
        digest_table(material, "days", "Quality, its change, label feed and estimates by day", days,
                     "No day was judged.")
    )  # fmt: skip
    return draft.done()
