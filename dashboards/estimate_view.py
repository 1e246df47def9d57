"""Estimates without labels beside what came true: a part of the model's page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame, parameter
from dashboards.pick import choose
from monitor.measurement import MeasurementState
from monitor.reports.estimates import CheckedEstimate, EstimateReport, estimate_report
from monitor.reports.measurements import Filter
from monitor.reports.models import ModelFacts
from monitor.windows import Window

METHODS = {
    "cbpe": "from scores calibrated on matured labels (CBPE)",
    "pape": "from scores calibrated on matured labels weighted to look like these requests (PAPE)",
    "dle": "by a second model of the errors (DLE)",
}
NAMES = {"auc": "AUC", "f1": "F1", "mae": "MAE", "rmse": "RMSE", "macro_f1": "Macro F1"}
INSIDE = {True: "yes", False: "no", None: "–"}
REMEDY = "It needs 500 matured labels of the deployments that serve: wait for labels."


def draw_estimates(frame: Frame, model: ModelFacts, window: Window) -> None:
    """The chart, the sentence that belongs to it, and how far earlier estimates were off."""
    if model.label is None or model.task not in ("binary", "multiclass", "regression"):
        return
    st.header("Estimated without labels")
    wanted = parameter("estimate")
    found = frame.ask(estimate_report, model.id, window, Filter(), wanted)
    if found.method is None or found.newest is None:
        kit.empty("Nothing was estimated in these days", "Days are estimated once they are over.")
        return
    name = choose("Estimate", found.methods, "estimate", first=found.method, told=_name)
    st.info(words.escape(f"An estimate {found.sentence}."), icon=":material/visibility_off:")
    _draw_state(found)
    if not found.frame.empty:
        _draw_chart(frame, found, name)
    _draw_checked(frame, found.checked)


def _name(method: str) -> str:
    return NAMES.get(method, method.replace("_", " ").capitalize())


def _draw_state(found: EstimateReport) -> None:
    """Why the newest day has no estimate, where it has none."""
    newest = found.newest
    if newest is None or newest.state is MeasurementState.MEASURED:
        return
    reason = newest.reason or ""
    if newest.state is MeasurementState.FAILED:
        kit.failed("The newest day has no estimate", reason)
    else:
        kit.too_few("Too few labels for an estimate of the newest day", f"{reason}. {REMEDY}")


def _draw_chart(frame: Frame, found: EstimateReport, name: str) -> None:
    rows = charts.line_frame(found.frame, frame.zone, "deployments")
    unit = str(found.frame["unit"].iloc[-1])
    chart = charts.lines(rows, _name(name), unit=unit, zone=frame.zone)
    newest = rows.groupby("series", sort=False).last()["text"]
    told = "; ".join(f"{series} {text}" for series, text in newest.items())
    description = f"{_name(name)} by day of the request; newest: {told}."
    how = METHODS.get(str(found.newest.detail.get("method")) if found.newest else "", "")
    if how:
        st.caption(words.escape(f"Made {how}."))
    if rows["immature"].any():
        st.caption("Hollow points: labels of these days are still coming.")
    table = rows[["when", "series", "text"]].rename(columns={"when": "day", "text": "value"})
    charts.draw(chart, description, table, "estimate_chart")


def _draw_checked(frame: Frame, checked: tuple[CheckedEstimate, ...]) -> None:
    if not checked:
        return
    days = words.plural(len(checked), "matured day")
    inside = sum(one.inside is True for one in checked)
    with st.expander(f"Checked on {days}: {inside} inside the interval"):
        rows = [
            (
                words.span(one.window.start, one.window.end, frame.zone),
                f"{one.estimate:.4g}",
                f"{one.realised:.4g}",
                f"{one.error:+.4g}",
                INSIDE[one.inside],
            )
            for one in reversed(checked)
        ]
        names = ["day", "estimate", "realised", "error", "inside the interval"]
        kit.table(pd.DataFrame(rows, columns=names), "Estimates of matured days and their errors")
