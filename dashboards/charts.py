"""Altair charts. Every chart comes with a text description and a table of the same numbers.

Names from outside are values of the fields `series`, `column` and `label`, never names of fields:
a dot, bracket or star in them can't be read as a path. Times are drawn in the viewer's zone, as
wall-clock time on a UTC scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import altair as alt
import pandas as pd
import streamlit as st

from dashboards import kit, words
from monitor.reports.model import Mark

PALETTE = ("#3b82c4", "#d9822b", "#2e9e6b", "#a45ec4", "#c94f7c", "#8a8f2f", "#7a8794")
BASELINE, CURRENT, BAD, QUIET = "#d9822b", "#3b82c4", "#d64545", "#8a94a0"
HEIGHT = 260
MARKS = {"deployment": ("deployment began", "#2e9e6b"), "alert": ("alert fired", "#d64545")}
LINE_FIELDS = ["at", "series", "value", "low", "high", "n", "when", "text"]


def draw(chart: Any, description: str, table: pd.DataFrame, key: str) -> None:
    """Draw a chart with its description for people who can't see it, and its table below."""
    described = words.clean(description)
    st.altair_chart(chart, alt=described, key=key)
    with st.expander("The same as a table"):
        kit.table(table, described)


def wall_clock(times: pd.Series, zone: ZoneInfo) -> pd.Series:
    """Moments as the zone's wall-clock time, called UTC so that no browser moves them."""
    local = pd.to_datetime(times, utc=True).dt.tz_convert(zone.key).dt.tz_localize(None)
    return local.dt.tz_localize("UTC")


def line_frame(frame: pd.DataFrame, zone: ZoneInfo, series: str = "method") -> pd.DataFrame:
    """Rows of a measurement series for a line chart; `series` names the field of the lines."""
    spans = zip(frame["at"], frame["end"], strict=True)
    told = zip(
        *(frame[name] for name in ("value", "low", "high", "level", "n", "unit")), strict=True
    )
    return pd.DataFrame(
        {
            "at": wall_clock(frame["at"], zone),
            "series": frame[series].map(words.clean),
            "value": frame["value"],
            "low": frame["low"],
            "high": frame["high"],
            "n": frame["n"],
            "when": [words.span(start, end, zone) for start, end in spans],
            "text": [words.measured(*each) for each in told],
        },
        columns=LINE_FIELDS,
    )


def lines(
    frame: pd.DataFrame,
    title: str,
    *,
    unit: str = "",
    bounds: tuple[float | None, float | None] = (None, None),
    marks: Sequence[Mark] = (),
    zone: ZoneInfo,
    zero: bool = False,
    height: int = HEIGHT,
) -> Any:
    """Lines over time with their intervals as bands, thresholds dashed, marks as thin lines."""
    names = list(dict.fromkeys(frame["series"]))
    colours = alt.Scale(domain=names, range=[PALETTE[i % len(PALETTE)] for i in range(len(names))])
    legend = alt.Legend(orient="bottom", title=None, labelLimit=260, columns=2, symbolOpacity=1)
    base = alt.Chart(frame).encode(
        x=_time_axis(),
        color=alt.Color("series:N", scale=colours, legend=legend if len(names) > 1 else None),
    )
    y = alt.Y(
        "value:Q",
        title=_axis_title(title, unit),
        scale=alt.Scale(zero=zero),
        axis=alt.Axis(format=".1%" if unit in {"share", "rate", "probability"} else ".4~r"),
    )
    layers: list[Any] = []
    if frame["low"].notna().any():
        band = base.mark_area(opacity=0.18).encode(
            y=alt.Y("low:Q", title=_axis_title(title, unit)), y2="high:Q"
        )
        layers.append(band.transform_filter("isValid(datum.low) && isValid(datum.high)"))
    tooltip = [
        alt.Tooltip("when:N", title="window"),
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("text:N", title="value"),
    ]
    layers.append(base.mark_line(strokeWidth=2).encode(y=y, detail="series:N"))
    layers.append(base.mark_point(size=28, filled=True).encode(y=y, tooltip=tooltip))
    layers += [_threshold(bound) for bound in bounds if bound is not None]
    layers += _mark_layers(marks, zone)
    return alt.layer(*layers).properties(height=height)


def traffic_bars(frame: pd.DataFrame, bucket: str, zone: ZoneInfo, marks: Sequence[Mark]) -> Any:
    """Requests by hour or day, one colour a deployment."""
    shown = pd.DataFrame(
        {
            "at": wall_clock(frame["at"], zone),
            "series": frame["deployment"].map(words.clean),
            "n": frame["n"],
            "when": [words.moment(at, zone) for at in frame["at"]],
        }
    )
    names = list(dict.fromkeys(shown["series"]))
    colours = alt.Scale(domain=names, range=[PALETTE[i % len(PALETTE)] for i in range(len(names))])
    legend = alt.Legend(orient="bottom", title=None, labelLimit=260, columns=2)
    unit = "utcyearmonthdatehours" if bucket == "hour" else "utcyearmonthdate"
    bars = (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            x=alt.X(f"{unit}(at):T", title=None, scale=alt.Scale(type="utc"), axis=_day_axis()),
            y=alt.Y("n:Q", title=f"requests a {bucket}"),
            color=alt.Color("series:N", scale=colours, legend=legend if len(names) > 1 else None),
            tooltip=[
                alt.Tooltip("when:N", title=bucket),
                alt.Tooltip("series:N", title="deployment"),
                alt.Tooltip("n:Q", title="requests", format=","),
            ],
        )
    )
    return alt.layer(bars, *_mark_layers(marks, zone)).properties(height=HEIGHT)


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
            "from": wall_clock(frame["at"], zone),
            "to": wall_clock(frame["end"], zone),
            "column": frame["column"].map(words.clean),
            "value": frame["value"],
            "state": frame["state"].str.replace("_", " "),
            "deployments": frame["deployments"],
            "when": [words.span(start, end, zone) for start, end in spans],
            "text": [words.measured(*each) for each in told],
            "reason": frame["reason"].fillna("").map(words.clean),
        }
    )
    names = [words.clean(name) for name in columns]
    base = alt.Chart(shown).encode(
        x=alt.X("from:T", title=None, scale=alt.Scale(type="utc"), axis=_day_axis()),
        x2="to:T",
        y=alt.Y(
            "column:N",
            sort=names,
            title=None,
            axis=alt.Axis(labelLimit=140, labelPadding=6, labelOverlap=False),
        ),
        tooltip=[
            alt.Tooltip("column:N"),
            alt.Tooltip("when:N", title="window"),
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
            fillOpacity=0, stroke=QUIET, strokeWidth=0.6, strokeDash=[2, 2]
        ).transform_filter("datum.state != 'measured'"),
        base.mark_text(text="×", color=BAD, align="left", dx=2).transform_filter(
            "datum.state == 'failed'"
        ),
        *_mark_layers(marks, zone),
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
    base = alt.Chart(shown).encode(
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
    kinds = alt.Scale(domain=["now", "baseline"], range=[CURRENT, BASELINE])
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
    return alt.layer(bars, strokes).properties(height=26 * len(order) + 90)


def reliability(frame: pd.DataFrame) -> Any:
    """Observed share over mean score a cell with its interval, and the line where both are equal.

    `frame` has `mean_score`, `observed`, `low`, `high`, `n`.
    """
    line = pd.DataFrame({"score": [0.0, 1.0], "observed": [0.0, 1.0]})
    shown = frame.rename(columns={"mean_score": "score"}).assign(rows=frame["n"].map(words.whole))
    x = alt.X("score:Q", title="mean score", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("observed:Q", title="observed share", scale=alt.Scale(domain=[0, 1]))
    diagonal = alt.Chart(line).mark_line(color=QUIET, strokeDash=[4, 4]).encode(x=x, y=y)
    base = alt.Chart(shown).encode(
        x=x,
        tooltip=[
            alt.Tooltip("score:Q", title="mean score", format=".3f"),
            alt.Tooltip("observed:Q", title="observed", format=".3f"),
            alt.Tooltip("low:Q", title="from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"),
            alt.Tooltip("rows:N", title="labels"),
        ],
    )
    spread = base.mark_rule(color=CURRENT, strokeWidth=2).encode(
        y=alt.Y("low:Q", title="observed share"), y2="high:Q"
    )
    points = base.mark_point(color=CURRENT, filled=True, size=55).encode(y=y)
    return alt.layer(diagonal, spread, points).properties(height=HEIGHT)


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
                "utcyearmonthdate(at):T", title=None, scale=alt.Scale(type="utc"), axis=_day_axis()
            ),
            y=alt.Y("n:Q", title="violations a day"),
            color=alt.Color(
                "series:N",
                scale=alt.Scale(range=list(PALETTE)),
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


def marks_caption(marks: Sequence[Mark]) -> None:
    """What the thin lines of the charts mean."""
    kinds = {mark.kind for mark in marks}
    told = [
        text
        for kind, text in (
            ("deployment", ":green[**|**] a deployment began"),
            ("alert", ":red[**┊**] an alert fired"),
        )
        if kind in kinds
    ]
    if told:
        st.caption("Lines in the charts: " + ", ".join(told) + ".")


def _time_axis() -> Any:
    return alt.X("at:T", title=None, scale=alt.Scale(type="utc"), axis=_day_axis())


def _day_axis() -> Any:
    return alt.Axis(labelOverlap=True, labelFlush=True, tickCount=6)


def _axis_title(title: str, unit: str) -> str:
    told = words.UNIT_WORDS.get(unit, unit)
    return f"{title} ({told})" if told else title


def _heat_colours() -> list[str]:
    dark = getattr(st.context.theme, "type", None) == "dark"
    return ["#27333f" if dark else "#e9eff5", "#e6a23c", "#c0392b"]


def _threshold(bound: float) -> Any:
    frame = pd.DataFrame({"value": [bound], "text": [f"threshold {bound:g}"]})
    base = alt.Chart(frame).encode(y="value:Q")
    rule = base.mark_rule(color=BAD, strokeDash=[6, 4], strokeWidth=1.5)
    label = base.mark_text(align="left", dx=4, dy=-6, color=BAD).encode(
        text="text:N", x=alt.value(0)
    )
    return alt.layer(rule, label)


def _mark_layers(marks: Sequence[Mark], zone: ZoneInfo) -> list[Any]:
    layers = []
    for kind, (what, colour) in MARKS.items():
        found = [mark for mark in marks if mark.kind == kind]
        if not found:
            continue
        frame = pd.DataFrame(
            {
                "at": wall_clock(pd.Series([mark.at for mark in found]), zone),
                "what": what,
                "name": [words.clean(mark.text) for mark in found],
                "when": [words.moment(mark.at, zone) for mark in found],
            }
        )
        dash = [1, 0] if kind == "deployment" else [2, 3]
        layers.append(
            alt.Chart(frame)
            .mark_rule(color=colour, strokeWidth=1.5, strokeDash=dash)
            .encode(
                x=_time_axis(),
                tooltip=[alt.Tooltip("what:N"), alt.Tooltip("name:N"), alt.Tooltip("when:N")],
            )
        )
    return layers
