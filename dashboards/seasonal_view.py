"""What the drift alarms see of one column: its distance from what its hours should show."""

from __future__ import annotations

import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame, parameter
from dashboards.pick import choose_scale
from dashboards.promise_view import asked, shifts_in_words
from monitor.reports.incidents import column_of
from monitor.reports.measurements import Filter
from monitor.reports.model import Mark
from monitor.reports.models import ModelFacts
from monitor.reports.promise import ColumnPromise
from monitor.reports.series import series
from monitor.windows import Window

FIRST_SCALE = "day"


def draw_seasonal(
    frame: Frame, model: ModelFacts, column: str, window: Window, happened: tuple[Mark, ...]
) -> None:
    """By what is watched of the column: values over time, and what would have been visible."""
    st.header("What the drift alarms see")
    found = asked(frame, model)
    mine = [one for one in found.columns if column_of(one.name, [column]) == column]
    if not found.columns:
        kit.empty(
            "The drift alarms have not learned yet",
            found.why[0] if found.why else "They need 4 healthy weeks of requests.",
        )
        return
    if not mine:
        kit.empty(
            "The drift alarms don't watch this column",
            "They watch features, predictions and scores that have a profile.",
        )
        return
    for one in mine:
        _draw_one(frame, model, one, window, happened)


def _draw_one(
    frame: Frame,
    model: ModelFacts,
    one: ColumnPromise,
    window: Window,
    happened: tuple[Mark, ...],
) -> None:
    _draw_learned(one)
    scale = parameter("seasonal_windows") or FIRST_SCALE
    wanted = Filter(checks=("drift",), methods=("seasonal",), column=one.name, scale=scale)
    found = frame.ask(series, model.id, window, wanted)
    choose_scale(found, "seasonal_windows")
    remedy = "Choose other days; columns without the promise may not be tested at all."
    if not kit.series_state(found, f"seasonal drift of {one.name}", remedy):
        return
    rows = charts.line_frame(found.shown, frame.zone, "column")
    unit = str(found.shown["unit"].iloc[-1])
    chart = charts.lines(rows, "distance", unit=unit, marks=happened, zone=frame.zone, zero=True)
    newest = rows.iloc[-1]
    description = (
        f"Distance of {one.name} from what its hours should show, windows of"
        f" {kit.scale_words(found.scale)}; newest {newest['when']}: {newest['text']}."
    )
    st.caption(words.escape(description))
    charts.draw(chart, description, rows[["when", "series", "text"]], f"seasonal:{one.name}")


def _draw_learned(one: ColumnPromise) -> None:
    learned = (
        f"{words.code(one.name)} was learned from {words.plural(one.weeks, 'healthy week')}"
        f" ({words.plural(one.n, 'row')}), season {words.escape(one.season.replace('_', ' '))},"
        f" kind {words.escape(one.column_class)}."
    )
    st.markdown(learned)
    if one.withheld:
        st.markdown(
            f":material/visibility_off: The promise does not hold for it:"
            f" {words.escape(one.withheld)}."
        )
    told = shifts_in_words(one)
    if told:
        st.caption(words.escape(told))
