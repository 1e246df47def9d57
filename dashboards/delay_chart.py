"""Pictures of labels: the delay curve with its limits, and how far each day has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import altair as alt
import pandas as pd

from dashboards import charts, words
from monitor.reports.labels import CohortFacts, CurveFacts

STATE_COLOURS = {
    "too early": "#c4cad1",
    "partial": charts.QUIET,
    "provisional": charts.CURRENT,
    "final": "#2e9e6b",
    "not told": "#c4cad1",
}


def curve_frame(curves: Sequence[CurveFacts]) -> pd.DataFrame:
    """Points of all curves: `series`, `days`, `share`, `low`, `high` and their text."""
    return pd.DataFrame(
        [
            (
                words.clean(curve.title),
                point.hours / 24,
                point.share,
                point.low,
                point.high,
                age_in_words(point.hours),
                f"{words.number(point.share, 'share')},"
                f" {words.interval(point.low, point.high, 0.95, 'share')}",
            )
            for curve in curves
            for point in curve.points
        ],
        columns=["series", "days", "share", "low", "high", "age", "text"],
    )


def delay_curves(frame: pd.DataFrame) -> Any:
    """Lines with bands; the oldest request followed is where a line ends."""
    names = list(dict.fromkeys(frame["series"]))
    colours = alt.Scale(domain=names, range=list(charts.PALETTE[: len(names)]))
    legend = alt.Legend(orient="bottom", title=None, columns=3, symbolOpacity=1)
    base = alt.Chart(frame).encode(
        x=alt.X("days:Q", title="days after the request", scale=alt.Scale(type="sqrt")),
        color=alt.Color("series:N", scale=colours, legend=legend if len(names) > 1 else None),
        detail=alt.Detail("series:N"),
    )
    share = alt.Y(
        "share:Q",
        title="requests with a label",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%"),
    )
    band = base.mark_area(opacity=0.18).encode(
        y=alt.Y("low:Q", title="requests with a label"), y2=alt.Y2("high:Q")
    )
    tooltip = [
        alt.Tooltip("series:N", title="delays of"),
        alt.Tooltip("age:N", title="by"),
        alt.Tooltip("text:N", title="have a label"),
    ]
    line = base.mark_line(strokeWidth=2).encode(y=share)
    points = base.mark_point(size=18, filled=True).encode(y=share, tooltip=tooltip)
    return alt.layer(band, line, points).properties(height=charts.HEIGHT)


def age_in_words(hours: float | None) -> str:
    """`3.2 days`, `5 hours`, `1 minute`; never for none."""
    if hours is None:
        return "never"
    count, unit = (hours * 60, "minute") if hours < 1 else (hours, "hour")
    if hours >= 48:
        count, unit = hours / 24, "day"
    told = f"{count:.2g}" if unit == "minute" else f"{count:.3g}"
    return f"{told} {unit}" if told == "1" else f"{told} {unit}s"


def cohort_bars(cohorts: Sequence[CohortFacts], zone: ZoneInfo) -> Any:
    """Coverage of each day as a bar, coloured by its state; immature ones are grey."""
    frame = pd.DataFrame(
        {
            "at": charts.wall_clock(pd.Series([one.window.start for one in cohorts]), zone),
            "share": [one.coverage for one in cohorts],
            "expected": [one.expected_share for one in cohorts],
            "state": [one.state.replace("_", " ") or "not told" for one in cohorts],
            "when": [words.span(one.window.start, one.window.end, zone) for one in cohorts],
            "rows": [words.whole(one.n) for one in cohorts],
        }
    )
    scale = alt.Scale(domain=list(STATE_COLOURS), range=list(STATE_COLOURS.values()))
    x = alt.X("utcyearmonthdate(at):T", title=None, scale=alt.Scale(type="utc"),
              axis=charts.day_axis())  # fmt: skip
    y = alt.Y("share:Q", title="requests with a label", axis=alt.Axis(format=".0%"),
              scale=alt.Scale(domain=[0, 1]))  # fmt: skip
    tooltip = [
        alt.Tooltip("when:N", title="day"),
        alt.Tooltip("state:N", title="state"),
        alt.Tooltip("share:Q", title="with label", format=".1%"),
        alt.Tooltip("expected:Q", title="expected by now", format=".1%"),
        alt.Tooltip("rows:N", title="requests"),
    ]
    legend = alt.Legend(orient="bottom", title=None)
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(x=x, y=y, color=alt.Color("state:N", scale=scale, legend=legend), tooltip=tooltip)
    )
    return bars.properties(height=charts.HEIGHT)
