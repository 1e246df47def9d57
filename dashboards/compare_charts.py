"""Charts of a comparison: what both sides share, differences in units of ε, the canary's bets.

The rules of `charts` hold: names from outside are values, never names of fields.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from dashboards import charts, words

TICKS = [-1000, -100, -10, -1, 0, 1, 10, 100, 1000]
SHARED, ALONE = "same slice at the same time on both sides", "without a counterpart"
VERDICT_COLOURS = {
    "better": "#2e9e6b",
    "worse": charts.BAD,
    "no difference": charts.CURRENT,
    "different": charts.PALETTE[3],
    "inconclusive": charts.QUIET,
    "confounded": charts.BASELINE,
}


def overlap_bars(frame: pd.DataFrame, a: str, b: str) -> Any:
    """Requests of both sides by slice: those with a counterpart dark, the others pale."""
    rows = []
    for row in frame.itertuples():
        for side, name, every, held in (
            (0, f"a: {a}", row.a, row.a_shared),
            (1, f"b: {b}", row.b, row.b_shared),
        ):
            rows.append((words.clean(row.slice), side, words.clean(name), SHARED, held))
            rows.append((words.clean(row.slice), side, words.clean(name), ALONE, every - held))
    shown = pd.DataFrame.from_records(rows, columns=["label", "side", "series", "kind", "n"])
    return (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            y=alt.Y("label:N", title=None, axis=alt.Axis(labelLimit=180)),
            yOffset=alt.YOffset("side:O"),
            x=alt.X("n:Q", title="requests"),
            color=alt.Color(
                "series:N",
                scale=alt.Scale(range=[charts.BASELINE, charts.CURRENT]),
                legend=alt.Legend(orient="bottom", title=None, labelLimit=260),
            ),
            opacity=alt.Opacity(
                "kind:N",
                scale=alt.Scale(domain=[SHARED, ALONE], range=[1.0, 0.35]),
                legend=alt.Legend(orient="bottom", title=None, labelLimit=300),
            ),
            tooltip=[
                alt.Tooltip("label:N", title="slice"),
                alt.Tooltip("series:N", title="side"),
                alt.Tooltip("kind:N", title="requests"),
                alt.Tooltip("n:Q", title="n", format=","),
            ],
        )
        .properties(height=44 * len(frame) + 90)
    )


def differences(frame: pd.DataFrame) -> Any:
    """b - a of every measured metric in units of its ε, with the 95 % interval; crude hollow."""
    measured = frame[frame["difference"].notna() & (frame["epsilon"].fillna(0) > 0)]
    told = zip(
        *(measured[name] for name in ("difference", "low", "high", "level", "unit")), strict=True
    )
    texts = [
        f"{words.number(value, unit)}, {words.interval(low, high, level, unit)}"
        for value, low, high, level, unit in told
    ]
    shown = pd.DataFrame(
        {
            "label": measured["metric"].map(words.clean),
            "value": measured["difference"] / measured["epsilon"],
            "low": measured["low"] / measured["epsilon"],
            "high": measured["high"] / measured["epsilon"],
            "crude": (measured["crude_b"] - measured["crude_a"]) / measured["epsilon"],
            "verdict": measured["verdict"],
            "text": texts,
        }
    )
    y = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=200))
    colour = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=list(VERDICT_COLOURS), range=list(VERDICT_COLOURS.values())),
        legend=None,
    )
    tooltip = [
        alt.Tooltip("label:N", title="metric"),
        alt.Tooltip("text:N", title="b - a"),
        alt.Tooltip("verdict:N"),
    ]
    scale = alt.Scale(type="symlog", constant=1)
    axis = alt.Axis(values=TICKS, format="~s")
    band = pd.DataFrame({"from": [-1.0], "to": [1.0]})
    title = (
        "b − a in units of ε (grey: too small to matter; evenly spaced up to 1, logarithmic beyond)"
    )
    base = alt.Chart(shown).encode(y=y, tooltip=tooltip)
    return alt.layer(
        alt.Chart(band).mark_rect(opacity=0.12, color=charts.QUIET).encode(x="from:Q", x2="to:Q"),
        base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", title=title, scale=scale, axis=axis), x2="high:Q", color=colour
        ),
        base.mark_point(size=70, filled=True, opacity=1).encode(x="value:Q", color=colour),
        base.mark_point(size=50, filled=False, color=charts.QUIET).encode(x="crude:Q"),
    ).properties(height=26 * max(len(shown), 1) + 60)


def canary_lines(frame: pd.DataFrame, alpha: float) -> Any:
    """The capital of both bets over the matched slots; the dashed line is 1/α."""
    shown = pd.concat(
        [
            pd.DataFrame({"step": frame.index + 1, "value": frame[name], "series": title})
            for name, title in (("harm", "bet on harm"), ("no_worse", "bet on no worse"))
        ]
    )
    limit = pd.DataFrame({"value": [1 / alpha], "text": [f"decided at {1 / alpha:g}"]})
    shown["value"] = 10.0 ** shown["value"].clip(-6, 12)
    y = alt.Y("value:Q", title="capital (stake 1)", scale=alt.Scale(type="log"))
    rule = alt.Chart(limit).mark_rule(color=charts.BAD, strokeDash=[6, 4]).encode(y="value:Q")
    label = (
        alt.Chart(limit)
        .mark_text(align="left", dx=4, dy=-6, color=charts.BAD)
        .encode(y="value:Q", text="text:N", x=alt.value(0))
    )
    lines = (
        alt.Chart(shown)
        .mark_line(point=True)
        .encode(
            x=alt.X("step:Q", title="matched slots of time", axis=alt.Axis(tickMinStep=1)),
            y=y,
            color=alt.Color(
                "series:N",
                scale=alt.Scale(
                    domain=["bet on harm", "bet on no worse"], range=[charts.BAD, "#2e9e6b"]
                ),
                legend=alt.Legend(orient="bottom", title=None),
            ),
        )
    )
    return alt.layer(lines, rule, label).properties(height=220)
