"""What servers told of themselves: a card of the serving page, and lines on an alert."""

from __future__ import annotations

from datetime import timedelta

import altair as alt
import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame
from monitor.reports.models import ModelFacts
from monitor.reports.server_readings import (
    ReadingPoint,
    ServerLine,
    ServerReport,
    reading_points,
    server_report,
)
from monitor.server_readings import SERVER_READINGS
from monitor.server_surroundings import ServerContext
from monitor.windows import Window

CHARTED = ("queue_length", "queue_time", "cache_usage", "running")
LONGEST_CHART = timedelta(days=2)
CONTEXT = "Context from the model's servers: it may explain what requests show, and proves nothing."


def draw_server(frame: Frame, model: ModelFacts, window: Window) -> None:
    """Readings of the range, and the queue minute by minute; nothing where no server tells any."""
    report: ServerReport = frame.ask(
        server_report, model.id, model.name, window.end - window.start, window.end
    )
    if not report.lines and not report.targets:
        return
    st.header("Servers")
    st.caption(CONTEXT)
    _draw_targets(frame, report)
    if not report.lines:
        kit.empty("No server told anything in these days", "Choose other days.")
        return
    _draw_minutes(frame, model, report, window)
    kit.table(pd.DataFrame([_row(frame, line) for line in report.lines]), "Readings of the servers")
    blind = {line.reading.name: line.reading.blind_to for line in report.lines}
    for name, text in blind.items():
        if text:
            st.caption(words.escape(f"{name} does not tell: {text}."))


def draw_servers(found: ServerContext) -> None:
    """Lines on an alert: what stood apart then, and what to measure; nothing where nothing did."""
    if not found.server and not found.look_at:
        return
    st.markdown("**The model's servers then**" if found.server else "**What to measure**")
    st.caption(CONTEXT)
    for line in found.server:
        st.markdown(f"- {words.escape(line)}")
    if found.look_at:
        st.caption("Areas to measure next; none of them is a conclusion.")
        for line in found.look_at:
            st.markdown(f"- {words.escape(line)}")


def _draw_targets(frame: Frame, report: ServerReport) -> None:
    for each in report.targets:
        if each.failures:
            read = words.moment(each.read_at, frame.zone) if each.read_at else "never"
            kit.failed(
                f"{words.clean(each.target.name)} can't be read; last read: {read}",
                words.clean(str(each.told.get("error", ""))),
            )


def _draw_minutes(frame: Frame, model: ModelFacts, report: ServerReport, window: Window) -> None:
    told = {line.reading.name for line in report.lines}
    name = next((each for each in CHARTED if each in told), None)
    if name is None:
        return
    last = max(line.until for line in report.lines if line.reading.name == name)
    shown = Window(max(window.start, last - LONGEST_CHART), last)
    points: tuple[ReadingPoint, ...] = frame.ask(reading_points, model.id, name, shown)
    rows = pd.DataFrame(
        {
            "at": charts.wall_clock(pd.Series([each.at for each in points]), frame.zone),
            "series": [words.clean(each.source) for each in points],
            "value": [each.value for each in points],
            "when": [words.moment(each.at, frame.zone) for each in points],
        }
    )
    reading = SERVER_READINGS[name]
    title = f"{name.replace('_', ' ')} ({reading.unit})"
    chart = (
        alt.Chart(rows)
        .mark_line()
        .encode(
            x=alt.X("at:T", title=None),
            y=alt.Y("value:Q", title=title),
            color=alt.Color("series:N", scale=alt.Scale(range=list(charts.PALETTE)), title=None),
            tooltip=["when:N", "series:N", "value:Q"],
        )
    )
    description = f"{reading.meaning}, minute by minute; newest {rows['value'].iloc[-1]:,.4g}."
    table = rows[["when", "series", "value"]]
    charts.draw(chart.properties(height=charts.HEIGHT), description, table, "server-readings")


def _row(frame: Frame, line: ServerLine) -> dict[str, str]:
    def told(value: float | None) -> str:
        return "–" if value is None else f"{value:,.4g}"

    quantiles = "; ".join(f"p{q * 100:g} {each.describe()}" for q, each in line.quantiles)
    return {
        "reading": line.reading.name, "source": words.clean(line.source),
        "version": words.clean(line.version), "unit": line.reading.unit,
        "value": told(line.value), "lowest": told(line.low), "highest": told(line.high),
        "a second": told(line.rate), "quantiles": quantiles,
        "until": words.moment(line.until, frame.zone),
    }  # fmt: skip
