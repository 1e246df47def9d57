"""The reliability diagram: what was observed at each score, and where a perfect model would lie."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from dashboards import charts, words
from monitor.reports.calibration import Diagram

_UNIT = alt.Scale(domain=[0, 1])


def reliability_diagram(diagram: Diagram) -> Any:
    """The band of a perfect model, the ascending curve, groups of equal size with their limits."""
    line = pd.DataFrame({"score": [0.0, 1.0], "observed": [0.0, 1.0]})
    layers = [
        alt.Chart(line)
        .mark_line(color=charts.QUIET, strokeDash=[4, 4])
        .encode(x=_score(), y=_observed("observed"))
    ]
    if not diagram.band.empty:
        layers.insert(0, _band(diagram.band))
    if not diagram.groups.empty:
        layers += _groups(diagram.groups)
    if not diagram.curve.empty:
        curve = alt.Chart(diagram.curve).mark_line(color=charts.CURRENT, strokeWidth=2.5)
        layers.append(curve.encode(x=_score(), y=_observed("observed")))
    return alt.layer(*layers).properties(height=charts.HEIGHT)


def _score() -> alt.X:
    return alt.X("score:Q", title="score", scale=_UNIT)


def _observed(field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", title="observed share", scale=_UNIT)


def _band(band: pd.DataFrame) -> Any:
    tooltip = [
        alt.Tooltip("score:Q", format=".3f"),
        alt.Tooltip("low:Q", title="perfect from", format=".3f"),
        alt.Tooltip("high:Q", title="perfect to", format=".3f"),
    ]
    area = alt.Chart(band).mark_area(color=charts.QUIET, opacity=0.25)
    return area.encode(x=_score(), y=_observed("low"), y2=alt.Y2("high:Q"), tooltip=tooltip)


def _groups(groups: pd.DataFrame) -> list[Any]:
    shown = groups.rename(columns={"mean_score": "score"}).assign(rows=groups["n"].map(words.whole))
    base = alt.Chart(shown).encode(
        x=_score(),
        tooltip=[
            alt.Tooltip("score:Q", title="mean score", format=".3f"),
            alt.Tooltip("observed:Q", format=".3f"),
            alt.Tooltip("low:Q", title="from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"),
            alt.Tooltip("rows:N", title="labels"),
        ],
    )
    rule = base.mark_rule(color=charts.CURRENT, strokeWidth=1.5, opacity=0.6)
    point = base.mark_point(color=charts.CURRENT, filled=True, size=45)
    return [
        rule.encode(y=_observed("low"), y2=alt.Y2("high:Q")),
        point.encode(y=_observed("observed")),
    ]
