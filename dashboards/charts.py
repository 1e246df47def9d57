"""Altair charts. Every chart comes with a text description and a table of the same numbers.

Names from outside are values of the fields `series`, `column` and `label`, never names of fields:
a dot, bracket or star in them can't be read as a path. Times are drawn in the viewer's zone, as
wall-clock time on a UTC scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import altair as alt
import pandas as pd
import streamlit as st
from altair.utils import schemapi

from dashboards import kit, words
from monitor.reports.model import Mark

# Checking charts against Vega-Lite's schema costs as much as the rest of a page; tests do it.
schemapi.DEBUG_MODE = False

PALETTE = ("#3b82c4", "#d9822b", "#2e9e6b", "#a45ec4", "#c94f7c", "#8a8f2f", "#7a8794")
BASELINE, CURRENT, BAD, QUIET = "#d9822b", "#3b82c4", "#d64545", "#8a94a0"
HEIGHT = 260
MARKS = {
    "deployment": ("deployment began", "#2e9e6b", [1, 0]),
    "incident": ("drift incident began", "#a45ec4", [8, 3]),
    "alert": ("alert fired", "#d64545", [2, 3]),
}
LINE_FIELDS = [
    "at",
    "series",
    "value",
    "low",
    "high",
    "n",
    "when",
    "utc",
    "text",
    "immature",
    "piece",
]
IMMATURE = {"too_early": "labels still to come: too early", "partial": "labels still to come"}


@dataclass(frozen=True)
class _Unchecked:
    """A chart as Streamlit reads it, not held against the schema at every look."""

    chart: Any

    def to_dict(self) -> dict[str, Any]:
        """The specification."""
        made: dict[str, Any] = self.chart.to_dict(validate=False)
        return made


def draw(chart: Any, description: str, table: pd.DataFrame, key: str) -> None:
    """Draw a chart with its description for people who can't see it, and its table below."""
    described = words.clean(description)
    st.altair_chart(_Unchecked(chart), alt=described, key=key)  # type: ignore[arg-type]
    with st.expander("The same as a table"):
        kit.table(table, described)


def wall_clock(times: pd.Series, zone: ZoneInfo) -> pd.Series:
    """Moments as the zone's wall-clock time, called UTC so that no browser moves them."""
    local = pd.to_datetime(times, utc=True).dt.tz_convert(zone.key).dt.tz_localize(None)
    return local.dt.tz_localize("UTC")


def line_frame(frame: pd.DataFrame, zone: ZoneInfo, series: str = "method") -> pd.DataFrame:
    """Rows of a measurement series for a line chart; `series` names the field of the lines."""
    spans = list(zip(frame["at"], frame["end"], strict=True))
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
            "utc": utc_texts(frame["at"], zone, frame["end"]),
            "text": [
                ", ".join(part for part in (words.measured(*each), IMMATURE.get(state)) if part)
                for each, state in zip(told, frame["maturity"], strict=True)
            ],
            "immature": frame["maturity"].isin(IMMATURE.keys()),
            "piece": _pieces(frame["at"], frame[series]),
        },
        columns=LINE_FIELDS,
    )


def utc_texts(times: pd.Series, zone: ZoneInfo, ends: pd.Series | None = None) -> list[str]:
    """The same times in UTC, for tooltips; empty where they are told in UTC already."""
    last = ends if ends is not None else [None] * len(times)
    told = (words.in_utc(at, zone, end) for at, end in zip(times, last, strict=True))
    return [(text or "").removeprefix("In UTC: ") for text in told]


def utc_tooltip(zone: ZoneInfo) -> list[Any]:
    """The line of a tooltip that tells the time in UTC, where the axis does not."""
    return [] if zone.key == "UTC" else [alt.Tooltip("utc:N", title="in UTC")]


def _pieces(at: pd.Series, series: pd.Series) -> list[int]:
    """A number a run of windows without a gap: no line is drawn over what was not measured."""
    moments = pd.DataFrame({"at": pd.to_datetime(at.array, utc=True), "series": series.array})
    steps = moments.sort_values("at", kind="stable").groupby("series")["at"].diff()
    usual = steps[steps > pd.Timedelta(0)].median()
    gaps = (steps > 1.6 * usual).groupby(moments["series"]).cumsum()
    return gaps.sort_index().astype(int).tolist()


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
    base = alt.Chart().encode(  # the layers share their rows: a copy in each would be hashed
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
            y=alt.Y("low:Q", title=_axis_title(title, unit)),
            y2=alt.Y2("high:Q"),
            detail=alt.Detail("piece:N"),
        )
        layers.append(band.transform_filter("isValid(datum.low) && isValid(datum.high)"))
    tooltip = [
        alt.Tooltip("when:N", title="window"),
        *utc_tooltip(zone),
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("text:N", title="value"),
    ]
    detail = [alt.Detail("series:N"), alt.Detail("piece:N")]
    layers.append(base.mark_line(strokeWidth=2).encode(y=y, detail=detail))
    layers.append(base.mark_point(size=28, filled=True).encode(y=y, tooltip=tooltip))
    if frame["immature"].any():  # a hollow grey ring: a number that labels will still change
        ring = alt.Chart(frame[frame["immature"]]).mark_point(
            size=70, filled=True, fill="white", stroke=QUIET, strokeWidth=2, opacity=1
        )
        layers.append(ring.encode(x=_time_axis(), y=y, tooltip=tooltip))
    layers += [_threshold(bound) for bound in bounds if bound is not None]
    layers += mark_layers(marks, zone)
    return alt.layer(*layers, data=frame).properties(height=height)


def traffic_bars(frame: pd.DataFrame, bucket: str, zone: ZoneInfo, marks: Sequence[Mark]) -> Any:
    """Requests by hour or day, one colour a deployment."""
    shown = pd.DataFrame(
        {
            "at": wall_clock(frame["at"], zone),
            "series": frame["deployment"].map(words.clean),
            "n": frame["n"],
            "when": [words.moment(at, zone) for at in frame["at"]],
            "utc": utc_texts(frame["at"], zone),
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
            x=alt.X(f"{unit}(at):T", title=None, scale=alt.Scale(type="utc"), axis=day_axis()),
            y=alt.Y("n:Q", title=f"requests a {bucket}"),
            color=alt.Color("series:N", scale=colours, legend=legend if len(names) > 1 else None),
            tooltip=[
                alt.Tooltip("when:N", title=bucket),
                *utc_tooltip(zone),
                alt.Tooltip("series:N", title="deployment"),
                alt.Tooltip("n:Q", title="requests", format=","),
            ],
        )
    )
    return alt.layer(bars, *mark_layers(marks, zone)).properties(height=HEIGHT)


def marks_caption(marks: Sequence[Mark]) -> None:
    """What the thin lines of the charts mean."""
    kinds = {mark.kind for mark in marks}
    told = [
        text
        for kind, text in (
            ("deployment", ":green[**|**] a deployment began"),
            ("incident", ":violet[**¦**] a drift incident began"),
            ("alert", ":red[**┊**] an alert fired"),
        )
        if kind in kinds
    ]
    if told:
        st.caption("Lines in the charts: " + ", ".join(told) + ".")


def _time_axis() -> Any:
    return alt.X("at:T", title=None, scale=alt.Scale(type="utc"), axis=day_axis())


def day_axis() -> Any:
    return alt.Axis(labelOverlap=True, labelFlush=True, tickCount=6)


def _axis_title(title: str, unit: str) -> str:
    told = words.UNIT_WORDS.get(unit, unit)
    return f"{title} ({told})" if told else title


def _threshold(bound: float) -> Any:
    frame = pd.DataFrame({"value": [bound], "text": [f"threshold {bound:g}"]})
    base = alt.Chart(frame).encode(y=alt.Y("value:Q"))
    rule = base.mark_rule(color=BAD, strokeDash=[6, 4], strokeWidth=1.5)
    label = base.mark_text(align="left", dx=4, dy=-6, color=BAD).encode(
        text=alt.Text("text:N"), x=alt.value(0)
    )
    return alt.layer(rule, label)


def mark_layers(marks: Sequence[Mark], zone: ZoneInfo) -> list[Any]:
    layers = []
    for kind, (what, colour, dash) in MARKS.items():
        found = [mark for mark in marks if mark.kind == kind]
        if not found:
            continue
        frame = pd.DataFrame(
            {
                "at": wall_clock(pd.Series([mark.at for mark in found]), zone),
                "what": what,
                "name": [words.clean(mark.text) for mark in found],
                "when": [words.moment(mark.at, zone) for mark in found],
                "utc": utc_texts(pd.Series([mark.at for mark in found]), zone),
            }
        )
        layers.append(
            alt.Chart(frame)
            .mark_rule(color=colour, strokeWidth=1.5, strokeDash=dash)
            .encode(
                x=_time_axis(),
                tooltip=[
                    alt.Tooltip("what:N"),
                    alt.Tooltip("name:N"),
                    alt.Tooltip("when:N"),
                    *utc_tooltip(zone),
                ],
            )
        )
    return layers
