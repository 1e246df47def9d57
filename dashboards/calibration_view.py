"""Calibration of a model's scores: the reliability table now, and the error over time."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import cell_charts, charts, kit, words
from dashboards.frame import Frame
from monitor.measurement import MeasurementState
from monitor.reports.measurements import Filter, MeasurementRow
from monitor.reports.model import newest_with_detail, reliability_table
from monitor.reports.models import ModelFacts
from monitor.reports.series import series
from monitor.windows import Window

REMEDY = "It needs 500 labels and 50 of each class a window: wait for labels, or choose more days."


def draw_calibration(frame: Frame, model: ModelFacts, window: Window) -> None:
    """Both, side by side on a wide screen."""
    if model.label is None or model.task not in ("binary", "multiclass"):
        return
    st.subheader("Calibration")
    found = frame.ask(
        newest_with_detail, model.id, window, Filter(("calibration",), ("debiased_error",))
    )
    left, right = st.columns(2)
    with left:
        _draw_reliability(frame, found)
    with right:
        _draw_error(frame, model, window)


def _draw_reliability(frame: Frame, found: tuple[MeasurementRow, ...]) -> None:
    st.markdown("**Does a score of 0\\.7 come true 7 times in 10?**")
    measured = [row for row in found if row.state is MeasurementState.MEASURED]
    if not measured:
        if found and found[0].state is MeasurementState.FAILED:
            kit.failed("Calibration could not be measured", found[0].reason or "")
        elif found:
            kit.too_few("Too few labels for calibration", f"{found[0].reason}. {REMEDY}")
        else:
            kit.empty("Calibration was not measured in these days", REMEDY)
        return
    newest = max(measured, key=lambda row: row.window.end)
    table = reliability_table(newest.detail)
    when = words.span(newest.window.start, newest.window.end, frame.zone)
    description = (
        f"Observed share by mean score in {len(table)} cells, {when}, n {words.whole(newest.n)};"
        " on the dashed line scores are right."
    )
    st.caption(words.escape(description))
    charts.draw(cell_charts.reliability(table), description, _told(table), "reliability")


def _draw_error(frame: Frame, model: ModelFacts, window: Window) -> None:
    st.markdown("**Calibration error over time**")
    found = frame.ask(series, model.id, window, Filter(checks=("calibration",)))
    if not kit.series_state(found, "calibration error", REMEDY):
        return
    methods = sorted(set(found.shown["method"]))
    first = methods.index("debiased_error") if "debiased_error" in methods else 0
    method = st.selectbox(
        "Error", methods, index=first, key="calibration",
        format_func=lambda name: name.replace("_", " "),
    )  # fmt: skip
    chosen = found.of(method)
    rows = charts.line_frame(chosen, frame.zone, "deployments")
    unit = str(chosen["unit"].iloc[-1])
    chart = charts.lines(rows, method.replace("_", " "), unit=unit, zone=frame.zone, zero=True)
    description = f"Calibration error by {method}; newest: {rows.iloc[-1]['text']}."
    table = rows[["when", "series", "text"]]
    charts.draw(chart, description, table, "calibration_chart")


def _told(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "mean score": table["mean_score"].map(lambda value: f"{value:.3f}"),
            "observed": [
                f"{observed:.3f} ({low:.3f} to {high:.3f})"
                for observed, low, high in zip(
                    table["observed"], table["low"], table["high"], strict=True
                )
            ],
            "labels": table["n"].map(words.whole),
        }
    )
