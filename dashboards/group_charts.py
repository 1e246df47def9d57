"""Pictures of groups: a point with its interval a group, a reference line; parts of a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from dashboards import words
from dashboards.charts import BAD, CURRENT, QUIET
from monitor.reports.explanations import Part
from monitor.reports.groups import GroupRow

ROW_HEIGHT, AXIS_HEIGHT = 40, 100
COLOURS = {
    "violates": BAD,
    "differs": BAD,
    "passes": "#2e9e6b",
    "no difference seen": "#2e9e6b",
    "inconclusive": QUIET,
    "reference": CURRENT,
}
SHAPES = {
    "violates": "triangle-down",
    "differs": "triangle-down",
    "passes": "circle",
    "no difference seen": "circle",
    "inconclusive": "square",
    "reference": "diamond",
}


def intervals(rows: Sequence[GroupRow], title: str, *, at: float, unit: str) -> Any:
    """Groups below each other, worst first; `at` is where nothing would be wrong, or the limit."""
    frame = pd.DataFrame(
        [
            {
                "label": words.clean(row.group),
                "value": row.value,
                "low": row.low if row.low is not None else row.value,
                "high": row.high if row.high is not None else row.value,
                "verdict": row.verdict.replace("_", " "),
                "text": interval_text(row),
            }
            for row in rows
            if row.value is not None
        ]
    )
    verdicts = list(dict.fromkeys(frame["verdict"]))
    order = list(dict.fromkeys(frame["label"]))
    base = alt.Chart(frame).encode(
        y=alt.Y(
            "label:N", sort=order, title=None, axis=alt.Axis(labelLimit=220, labelOverlap=False)
        ),
        color=alt.Color(
            "verdict:N",
            scale=alt.Scale(domain=verdicts, range=[COLOURS.get(name, QUIET) for name in verdicts]),
            legend=alt.Legend(orient="bottom", title=None),
        ),
    )
    axis = alt.Axis(format=".2f" if unit == "ratio" else "+.1%")
    bars = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("low:Q", title=title, axis=axis, scale=alt.Scale(zero=False)), x2="high:Q"
    )
    shapes = alt.Scale(domain=verdicts, range=[SHAPES.get(name, "square") for name in verdicts])
    points = base.mark_point(size=90, filled=True, opacity=1).encode(
        x="value:Q",
        shape=alt.Shape("verdict:N", scale=shapes, legend=None),
        tooltip=[alt.Tooltip("label:N", title="group"), alt.Tooltip("text:N", title="value")],
    )
    height = AXIS_HEIGHT + ROW_HEIGHT * len(order)
    return alt.layer(_line(at), bars, points).properties(height=height)


def interval_text(row: GroupRow) -> str:
    """A ratio or gap with its interval and n."""
    if row.value is None:
        return row.reason or "too few"
    if row.unit == "ratio":
        return words.measured(row.value, row.low, row.high, 0.95, row.n)
    limits = (
        ""
        if row.low is None or row.high is None
        else f", 95 % interval {points(row.low)} to {points(row.high)}"
    )
    return f"{points(row.value)}{limits}, n {words.whole(row.n)}"


def points(value: float | None) -> str:
    """A difference of shares: `+3.2 points`."""
    return "–" if value is None else f"{100 * value:+.1f} points"


def parts(found: Sequence[Part], unit: str) -> Any:
    """The parts of a changed loss with their intervals, the whole change first."""
    frame = pd.DataFrame(
        [
            {
                "label": part.words,
                "value": part.value,
                "low": part.low,
                "high": part.high,
                "text": f"{part.value_text} ({part.limits_text})",
                "series": "the whole change" if part.name == "total" else "a part of it",
            }
            for part in sorted(found, key=lambda part: part.name != "total")
        ]
    )
    scale = alt.Scale(domain=["the whole change", "a part of it"], range=[QUIET, CURRENT])
    base = alt.Chart(frame).encode(
        y=alt.Y(
            "label:N",
            sort=list(frame["label"]),
            title=None,
            axis=alt.Axis(labelLimit=280, labelOverlap=False),
        )
    )
    axis = alt.Axis(format="+.1%" if unit == "share" else "+.4~r")
    tooltip = [alt.Tooltip("label:N", title="part"), alt.Tooltip("text:N", title="change")]
    bars = base.mark_bar(opacity=0.8, height=16).encode(
        x=alt.X("value:Q", title="change of the loss", axis=axis),
        color=alt.Color("series:N", scale=scale, legend=None),
        tooltip=tooltip,
    )
    limits = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    return alt.layer(bars, limits, _line(0.0)).properties(
        height=AXIS_HEIGHT + ROW_HEIGHT * len(frame)
    )


def _line(at: float) -> Any:
    frame = pd.DataFrame({"at": [at]})
    return alt.Chart(frame).mark_rule(color=QUIET, strokeDash=[6, 4]).encode(x="at:Q")
