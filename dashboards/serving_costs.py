"""Costs, energy and routes: cards of the serving page."""

from __future__ import annotations

import altair as alt
import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame
from monitor.reports.cascade import CascadeReport, RouteRow, cascade_of
from monitor.reports.costs import CostRow, cost_rows
from monitor.reports.measurements import MeasurementRow
from monitor.reports.models import ModelFacts
from monitor.windows import Window

BY_METHOD = {"per_request": "a request", "per_success": "a successful task"}


def draw_costs(frame: Frame, model: ModelFacts, window: Window) -> None:
    """What a request and a successful task cost, day by day, with the condition of success."""
    rows = frame.ask(cost_rows, model.id, window, "live", "day", frame.known_by)
    if not rows:
        return
    st.header("Costs")
    newest = rows[0]
    st.caption(words.escape(f"A task is a success when {newest.condition}."))
    whole = [row for row in rows if len(row.deployment_ids) == len(newest.deployment_ids)]
    lines = [_point(frame, row, method) for row in whole for method in BY_METHOD]
    shown = pd.DataFrame([line for line in lines if line is not None])
    if len(shown):
        _draw_lines(frame, shown, newest)
    _draw_components(newest)
    table = pd.DataFrame([_line(frame, row) for row in rows[:60]])
    kit.table(table, "Costs by day and deployments")


def _point(frame: Frame, row: CostRow, method: str) -> dict[str, object] | None:
    found = row.methods.get(method)
    if found is None or found.value is None:
        return None
    return {
        "at": row.window.start, "cost of": BY_METHOD[method], "value": found.value,
        "low": found.low, "high": found.high, "unit": found.unit,
        "when": words.span(row.window.start, row.window.end, frame.zone),
        "text": words.measured(found.value, found.low, found.high, found.level, found.n,
                               found.unit),
    }  # fmt: skip


def _draw_lines(frame: Frame, shown: pd.DataFrame, newest: CostRow) -> None:
    shown["at"] = charts.wall_clock(shown["at"], frame.zone)
    unit = words.clean(str(shown["unit"].iloc[0]))
    base = alt.Chart(shown).encode(
        x=alt.X("at:T", title=None, axis=charts.day_axis()),
        color=alt.Color(
            "cost of:N",
            scale=alt.Scale(range=list(charts.PALETTE)),
            title=None,
            legend=alt.Legend(orient="bottom"),
        ),
    )
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=unit), y2="high:Q")
    line = base.mark_line(point=True).encode(
        y=alt.Y("value:Q", title=unit, scale=alt.Scale(zero=True)),
        tooltip=["when:N", "cost of:N", "text:N"],
    )
    told = "; ".join(f"{row['cost of']} {row['text']}" for _, row in shown.head(2).iterrows())
    description = f"Cost in {unit} by day, with the interval of a success; newest: {told}."
    table = shown[["when", "cost of", "text"]]
    charts.draw((band + line).properties(height=charts.HEIGHT), description, table, "costs")
    if newest.left_out:
        st.caption(words.escape(f"Left out: {'; '.join(newest.left_out)}"))


def _draw_components(newest: CostRow) -> None:
    total = sum(newest.components.values())
    if not total:
        return
    parts = [f"{name} {value / total:.1%}" for name, value in newest.components.items()]
    st.caption(words.escape(f"Of the newest day's total: {', '.join(parts)}."))


def _line(frame: Frame, row: CostRow) -> dict[str, str]:
    return {
        "day": words.span(row.window.start, row.window.end, frame.zone),
        "deployments": ", ".join(map(str, row.deployment_ids)),
        "a request": _told(row.methods.get("per_request")),
        "a successful task": _told(row.methods.get("per_success")),
        "energy of a request": _told(row.methods.get("energy_per_request")),
        "energy of a successful task": _told(row.methods.get("energy_per_success")),
    }


def _told(row: MeasurementRow | None) -> str:
    if row is None:
        return "–"
    if row.value is None:
        return row.reason or "–"
    return words.measured(row.value, row.low, row.high, row.level, row.n, row.unit)


def draw_cascade(frame: Frame, model: ModelFacts, window: Window) -> None:
    """The routes of a cascade beside each other; nothing without one."""
    found: CascadeReport | None = frame.ask(cascade_of, model.name, window)
    if found is None:
        return
    st.header("Routes of the cascade")
    if found.n == 0:
        kit.empty("No request in these days", "Choose other days, or send requests with a route.")
        return
    kit.table(pd.DataFrame([_route(row) for row in found.routes]), "Routes of the cascade")
    for line in found.sentences():
        st.markdown(words.escape(line))


def _route(row: RouteRow) -> dict[str, str]:
    def told(value: float | None, unit: str) -> str:
        return "–" if value is None else words.number(value, unit)

    share = "–" if row.share is None else f"{row.share:.1%}"
    if row.low is not None and row.high is not None:
        share += f" ({row.low:.1%} to {row.high:.1%})"
    right = row.why_not_right
    if row.right is not None and row.right_low is not None and row.right_high is not None:
        right = f"{row.right:.1%} ({row.right_low:.1%} to {row.right_high:.1%})"
    return {
        "route": row.route, "requests": words.whole(row.n), "share": share,
        "latency p50": told(row.latency_p50, row.latency_unit),
        "latency p95": told(row.latency_p95, row.latency_unit),
        "cost of a request": told(row.cost, row.currency),
        "right": right, "labelled": words.whole(row.labelled),
    }  # fmt: skip
