"""How the model served: outcomes, latency, stages, tokens, cost."""

from __future__ import annotations

from monitor.documents.material import Material
from monitor.documents.numbers import DAY, chart_of, digest_table, measurements_of, say_counts
from monitor.documents.parts import Drafting, Section

CHECKS = ("serving", "language", "cost", "cascade")


def section(material: Material) -> Section:
    """Serving by day."""
    draft = Drafting("serving", "Serving and cost")
    rows = measurements_of(material, CHECKS, DAY)
    say_counts(draft, rows, DAY)
    rates = [row for row in rows if row.method == "request_rate"]
    chart = chart_of(material, "traffic", "Requests a second, by day", rates)
    if chart:
        draft.charts.append(chart)
    draft.tables.append(
        digest_table(material, "days", "Serving, language, cost and routes by day", rows,
                     "No day was judged.")
    )  # fmt: skip
    return draft.done()
