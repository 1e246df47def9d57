"""Percentiles of what was served, over time, on the pages Model and Serving."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame
from dashboards.pick import choose
from monitor.reports.measurements import Filter
from monitor.reports.models import ModelFacts
from monitor.reports.series import series
from monitor.windows import Window

PERCENTILES = ("p50", "p95", "p99")
SERVED_ROLES = ("timing", "count", "cost")
TITLE = "Latency and other measures of serving, over time"


def draw_latency(frame: Frame, model: ModelFacts, window: Window) -> None:
    """Percentiles of one timing, count or cost; each is of its own window, none is averaged."""
    if not _names(model):
        st.header(TITLE)
        kit.empty(
            "The contract declares no timing, count or cost",
            "Give such a column the role timing, count or cost; then its percentiles are measured.",
        )
    draw_over_time(frame, model, window)


def draw_over_time(frame: Frame, model: ModelFacts, window: Window) -> None:
    """The same; nothing for a model whose contract declares nothing of the kind."""
    names = _names(model)
    if not names:
        return
    st.header(TITLE)
    column = choose("What is served", names, "served", told=words.clean)
    wanted = Filter(checks=("serving",), methods=PERCENTILES, column=column)
    found = frame.ask(series, model.id, window, wanted)
    if not kit.series_state(found, f"percentile of {column}", "It needs 20 requests a window."):
        return
    widest = found.widest()
    rows = charts.line_frame(widest, frame.zone)
    unit = str(widest["unit"].iloc[-1])
    chart = charts.lines(rows, column, unit=unit, zone=frame.zone, zero=True, height=220)
    newest = rows.groupby("series").last()["text"]
    told = "; ".join(f"{name} {text}" for name, text in newest.items())
    description = f"Percentiles of {column} of all deployments together; newest: {told}."
    charts.draw(chart, description, _told(rows), "latency")


def _names(model: ModelFacts) -> list[str]:
    return [each.name for each in model.columns if each.role in SERVED_ROLES]


def _told(rows: pd.DataFrame) -> pd.DataFrame:
    names = {"when": "window", "series": "series", "text": "value"}
    return rows[list(names)].rename(columns=names)
