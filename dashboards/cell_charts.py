"""Charts of cells: columns by time, values by cell, violations by day.

The rules of `charts` hold: names from outside are values, times are wall-clock times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import altair as alt
import pandas as pd
import streamlit as st

from dashboards import charts, words
from monitor.reports.model import Mark


def heat_map(
    frame: pd.DataFrame, columns: Sequence[str], unit: str, zone: ZoneInfo, marks: Sequence[Mark]
) -> Any:
    """Columns by time, coloured by value; windows without a number are outlined, failed ones ×."""
    spans = list(zip(frame["at"], frame["end"], strict=True))
    told = zip(
        *(frame[name] for name in ("value", "low", "high", "level", "n", "unit")), strict=True
    )
    shown = pd.DataFrame(
        {
            "from": charts.wall_clock(frame["at"], zone),
            "to": charts.wall_clock(frame["end"], zone),
            "column": frame["column"].map(words.clean),
            "value": frame["value"],
            "state": frame["state"].str.replace("_", " "),
            "deployments": frame["deployments"],
            "when": [words.span(start, end, zone) for start, end in spans],
            "utc": charts.utc_texts(frame["at"], zone, frame["end"]),
            "text": [words.measured(*each) for each in told],
            "reason": frame["reason"].fillna("").map(words.clean),
        }
    )
    names = [words.clean(name) for name in columns]
    base = alt.Chart().encode(
        x=alt.X("from:T", title=None, scale=alt.Scale(type="utc"), axis=charts.day_axis()),
        x2=alt.X2("to:T"),
        y=alt.Y(
            "column:N",
            sort=names,
            title=None,
            axis=alt.Axis(labelLimit=140, labelPadding=6, labelOverlap=False),
        ),
        tooltip=[
            alt.Tooltip("column:N"),
            alt.Tooltip("when:N", title="window"),
            *charts.utc_tooltip(zone),
            alt.Tooltip("text:N", title="value"),
            alt.Tooltip("state:N"),
            alt.Tooltip("reason:N"),
            alt.Tooltip("deployments:N"),
        ],
    )
    colour = alt.Color(
        "value:Q",
        title=words.UNIT_WORDS.get(unit, unit) or None,
        scale=alt.Scale(range=_heat_colours(), domainMin=0, clamp=True, interpolate="rgb"),
        legend=alt.Legend(orient="top", gradientLength=180, format=".3~r"),
    )
    return alt.layer(
        base.mark_rect().encode(color=colour).transform_filter("datum.state == 'measured'"),
        base.mark_rect(
            fillOpacity=0, stroke=charts.QUIET, strokeWidth=0.6, strokeDash=[2, 2]
        ).transform_filter("datum.state != 'measured'"),
        base.mark_text(text="×", color=charts.BAD, align="left", dx=2).transform_filter(
            "datum.state == 'failed'"
        ),
        *charts.mark_layers(marks, zone),
        data=shown,
    ).properties(height=26 * len(names) + 110)


def distribution(frame: pd.DataFrame) -> Any:
    """Shares of the rows by cell: the current ones as bars, the baseline's as strokes over them."""
    shown = pd.DataFrame(
        {
            "cell": frame["cell"],
            "label": frame["label"].map(words.clean),
            "baseline": frame["baseline"],
            "current": frame["current"],
            "then": frame["baseline_n"].map(words.whole),
            "now": frame["current_n"].map(words.whole),
        }
    )
    order = list(dict.fromkeys(shown["label"]))
    base = alt.Chart().encode(
        y=alt.Y(
            "label:N", sort=order, title=None, axis=alt.Axis(labelLimit=150, labelOverlap=False)
        ),
        tooltip=[
            alt.Tooltip("label:N", title="cell"),
            alt.Tooltip("current:Q", title="share now", format=".2%"),
            alt.Tooltip("now:N", title="rows now"),
            alt.Tooltip("baseline:Q", title="share in the baseline", format=".2%"),
            alt.Tooltip("then:N", title="rows in the baseline"),
        ],
    )
    axis = alt.Axis(format=".0%", title="share of rows", orient="top")
    kinds = alt.Scale(domain=["now", "baseline"], range=[charts.CURRENT, charts.BASELINE])
    legend = alt.Legend(orient="top", title=None)
    bars = (
        base.transform_calculate(kind="'now'")
        .mark_bar(height={"band": 0.7})
        .encode(
            x=alt.X("current:Q", axis=axis),
            color=alt.Color("kind:N", scale=kinds, legend=legend),
        )
    )
    strokes = (
        base.transform_calculate(kind="'baseline'")
        .mark_tick(thickness=3, height={"band": 0.9})
        .encode(x=alt.X("baseline:Q", axis=axis), color=alt.Color("kind:N", scale=kinds))
    )
    return alt.layer(bars, strokes, data=shown).properties(height=26 * len(order) + 90)


def violation_bars(frame: pd.DataFrame) -> Any:
    """Violations a UTC day by reason."""
    shown = pd.DataFrame(
        {
            "at": pd.to_datetime(frame["at"], utc=True),
            "series": frame["reason"],
            "n": frame["n"],
            "when": [f"{at:%Y-%m-%d}" for at in frame["at"]],
        }
    )
    return (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            x=alt.X(
                "utcyearmonthdate(at):T",
                title=None,
                scale=alt.Scale(type="utc"),
                axis=charts.day_axis(),
            ),
            y=alt.Y("n:Q", title="violations a day"),
            color=alt.Color(
                "series:N",
                scale=alt.Scale(range=list(charts.PALETTE)),
                legend=alt.Legend(orient="bottom", title=None, columns=2),
            ),
            tooltip=[
                alt.Tooltip("when:N", title="day"),
                alt.Tooltip("series:N", title="reason"),
                alt.Tooltip("n:Q", title="violations", format=","),
            ],
        )
        .properties(height=200)
    )


def _heat_colours() -> list[str]:
    dark = getattr(st.context.theme, "type", None) == "dark"
    return ["#27333f" if dark else "#e9eff5", "#e6a23c", "#c0392b"]
