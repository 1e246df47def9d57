"""What lies under an alert: what changed before it, segments that stand out, masked requests."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame
from monitor.access import Right
from monitor.reports.alert_detail import AlertDetail, span_of
from monitor.reports.alert_evidence import Evidence, alert_evidence
from monitor.reports.models import deployments, model_facts

QUIET_BEFORE = 5


def usual_band(shown: pd.DataFrame, since: Any) -> tuple[float, float] | None:
    """Where nine in ten of the values before the alert lay; None before five were measured."""
    before = shown.loc[shown["at"] < since, "value"].dropna()
    if len(before) < QUIET_BEFORE:
        return None
    return float(before.quantile(0.05)), float(before.quantile(0.95))


def with_band(chart: Any, band: tuple[float, float] | None) -> Any:
    """The chart over a grey band of the usual values."""
    if band is None:
        return chart
    frame = pd.DataFrame({"low": [band[0]], "high": [band[1]]})
    area = alt.Chart(frame).mark_rect(opacity=0.16, color="#8a94a0")
    return area.encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")) + chart


def band_words(band: tuple[float, float] | None, unit: str) -> str:
    """The band as a sentence; it is not known before enough windows were measured."""
    if band is None:
        return "No usual range is known: too few windows were measured before it began."
    low, high = (words.number(each, unit) for each in band)
    return f"Grey: before it began, nine in ten values lay between {low} and {high}."


def draw_changed(frame: Frame, detail: AlertDetail) -> None:
    """Deployments that began in the time the chart shows, with the tags they changed."""
    st.header("What changed")
    found = detail.finding
    known = frame.ask(deployments, detail.model_id) if detail.model_id is not None else ()
    span = span_of(found)
    pairs = [
        (before, after)
        for before, after in pairwise(known)
        if after.first_request is not None and span.start <= after.first_request < span.end
    ]
    if not pairs:
        st.markdown("No new deployment began in the two weeks before it.")
    for before, after in reversed(pairs):
        groups = ", ".join(after.changed) or "no group of tags"
        began = words.moment(after.first_request, frame.zone)
        st.markdown(
            f":material/deployed_code_history: {words.code(after.title)} began"
            f" {words.escape(began)}; it differs from {words.code(before.title)} in"
            f" {words.escape(groups)}."
        )
        st.caption(words.escape(after.tags))
        query = {"model": found.model, "a": str(before.id), "b": str(after.id)}
        frame.link("compare", f"Compare {before.title} with {after.title}", **query)


def draw_under(frame: Frame, detail: AlertDetail) -> None:
    """Segments and sampled requests of the judged window."""
    if detail.model_id is None:
        return
    model = frame.ask(model_facts, detail.finding.model)
    found = frame.ask(alert_evidence, detail.model_id, model.columns, detail.finding)
    _draw_parts(frame, detail, found)
    if frame.may(Right.SEE_ROWS):
        _draw_rows(frame, found)


def _draw_parts(frame: Frame, detail: AlertDetail, found: Evidence) -> None:
    st.header("Segments that stand out")
    if not found.parts:
        kit.empty(
            "No segment was measured in this window",
            "Name segment columns in the contract; then the same question is put to each segment.",
        )
        return
    rows = [
        (words.clean(part.segment),
         words.measured(part.value, part.low, part.high, part.level, part.n, part.unit))
        for part in found.parts
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["segment", "value"])
    kit.table(table, f"Segments, the worst first: {rows[0][0]} {rows[0][1]}")
    query = {"model": detail.finding.model, "segment": found.parts[0].segment}
    column = detail.finding.labels.get("column")
    page = "column" if column else "model"
    label = f"Look at {found.parts[0].segment}"
    frame.link(page, label, **query, **({"column": column} if column else {}))


def _draw_rows(frame: Frame, found: Evidence) -> None:
    st.header("Some of the requests")
    if not found.rows:
        kit.empty(
            "No sample of this window is kept",
            "A sample is drawn of every day and expires with the requests.",
        )
        return
    rows = [
        (words.clean(row.request), words.moment(row.at, frame.zone, seconds=True),
         *(words.clean(cell) for cell in row.cells))
        for row in found.rows
    ]  # fmt: skip
    told = pd.DataFrame([row[2:] for row in rows], columns=list(found.columns))
    told.insert(0, "its time", [row[1] for row in rows], allow_duplicates=True)
    told.insert(0, "its id", [row[0] for row in rows], allow_duplicates=True)
    kit.table(told, "Sampled requests of the window, values masked unless their column is public")
    st.caption("Values are masked unless the contract calls their column public; ids are cut.")
