"""Calibration of a model's scores: the diagram, what the tests say, and the error over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame
from dashboards.pick import choose
from dashboards.reliability_chart import reliability_diagram
from monitor.measurement import MeasurementState
from monitor.reports.calibration import (
    CalibrationFacts,
    Diagram,
    calibration_choices,
    calibration_facts,
    diagram_of,
)
from monitor.reports.measurements import Filter, MeasurementRow
from monitor.reports.models import ModelFacts
from monitor.reports.series import series
from monitor.windows import Window

REMEDY = "It needs 500 labels and 50 of each class a window: wait for labels, or choose more days."
ALL = "all requests"
FIRST_ERRORS = ("debiased_error", "class_error")


def draw_calibration(frame: Frame, model: ModelFacts, window: Window) -> None:
    """Diagram and error over time, side by side on a wide screen."""
    if model.label is None or model.task not in ("binary", "multiclass"):
        return
    st.header("Calibration")
    wanted = _chosen(frame, model, window)
    left, right = st.columns(2)
    with left:
        _draw_diagram(frame, frame.ask(calibration_facts, model.id, window, wanted))
    with right:
        _draw_error(frame, model, window, wanted)


def _chosen(frame: Frame, model: ModelFacts, window: Window) -> Filter:
    """The whole model, a class or a segment; a choice only where there is one."""
    choices = frame.ask(calibration_choices, model.id, window, Filter())
    options: dict[str, Filter] = {ALL: Filter(column="")}
    options |= {f"class {name}": Filter(column=name) for name in choices.classes}
    options |= {
        name: Filter(column="", segment_id=number) for number, name in choices.segments.items()
    }
    if len(options) == 1:
        return options[ALL]
    return options[choose("Whose scores", list(options), "scores", told=words.clean)]


def _draw_diagram(frame: Frame, found: CalibrationFacts | None) -> None:
    st.markdown("**Does a score of 0\\.7 come true 7 times in 10?**")
    if found is None:
        kit.empty("Calibration was not measured in these days", REMEDY)
        return
    if not found.is_measured:
        if found.error.state is MeasurementState.FAILED:
            kit.failed("Calibration could not be measured", found.error.reason or "")
        else:
            kit.too_few("Too few labels for calibration", f"{found.error.reason}. {REMEDY}")
        return
    row, diagram = found.error, diagram_of(found.error.detail)
    when = words.span(row.window.start, row.window.end, frame.zone)
    verdict = verdict_words(found.test)
    st.markdown(words.escape(verdict))
    description = (
        f"Observed share by score, {when}, n {words.whole(row.n)}. The line is the best ascending"
        " curve; the grey band is where the curve of a perfect model would lie; on the dashed line"
        f" scores are right. {verdict}"
    )
    st.caption(words.escape(f"{when}, n {words.whole(row.n)}; grey: where a perfect model lies."))
    charts.draw(reliability_diagram(diagram), description, _told(diagram), "reliability")
    if found.change is not None:
        st.markdown(words.escape(change_words(found.change)))


def verdict_words(test: MeasurementRow | None) -> str:
    """What the combined test says, in a sentence or two with its p-value and n."""
    if test is None or test.value is None or test.state is not MeasurementState.MEASURED:
        return "The tests of calibration were not made for these labels."
    said = _SAID.get(str(test.detail.get("verdict")), _SAID["uneven"])
    gap, limits = test.detail.get("too_high_by"), test.detail.get("too_high_by_limits")
    sentence = said
    if "{by}" in said and gap is not None and limits is not None:
        sign = 1 if gap > 0 else -1
        low, high = sorted(sign * limit for limit in limits)
        sentence = said.format(by=f"{abs(gap):.3f} on average ({low:.3f} to {high:.3f})")
    if "{slope}" in sentence:
        sentence = sentence.format(slope=f"{test.detail.get('slope', float('nan')):.2f}")
    return f"{sentence} {_p_value(test.value)}, n {words.whole(test.n)}."


_SAID: Mapping[str, str] = {
    "no_miscalibration_seen": "No miscalibration seen:",
    "too_high": "Scores are too high by {by}:",
    "too_low": "Scores are too low by {by}:",
    "too_extreme": "Scores are too sure of themselves, slope {slope} instead of 1:",
    "too_timid": "Scores are not sure enough, slope {slope} instead of 1:",
    "uneven": "Scores are off in places, where the curve leaves the band:",
}


def change_words(change: MeasurementRow) -> str:
    """Before and after the newest change of version, precision or runtime."""
    detail: Mapping[str, Any] = change.detail
    after = ", ".join(map(str, change.deployment_ids))
    sides = f"deployment {after} against {detail.get('before_deployment')} before it"
    tags = ", ".join(sorted(detail.get("differs_in") or ()))
    if change.state is not MeasurementState.MEASURED or change.value is None:
        return f"Calibration of {sides}: {change.reason or 'not measured'}."
    size = words.measured(
        change.value, change.low, change.high, change.level, change.n, "probability"
    )
    said = "changed" if detail.get("verdict") == "changed" else "no change seen"
    several = " Several groups of tags differ: any of them may be it." * bool(
        detail.get("confounded")
    )
    return f"Calibration of {sides} (they differ in {tags}): {said}, gap moved by {size}.{several}"


def _p_value(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def _draw_error(frame: Frame, model: ModelFacts, window: Window, wanted: Filter) -> None:
    st.markdown("**Calibration error over time**")
    asked = Filter(checks=("calibration",), column=wanted.column, segment_id=wanted.segment_id)
    found = frame.ask(series, model.id, window, asked)
    if not kit.series_state(found, "calibration error", REMEDY):
        return
    methods = sorted(set(found.shown["method"]))
    first = next((name for name in FIRST_ERRORS if name in methods), methods[0])
    method = choose("Error", methods, "calibration", first=first, told=words.plain)
    chosen = found.of(method)
    rows = charts.line_frame(chosen, frame.zone, "deployments")
    unit = str(chosen["unit"].iloc[-1])
    chart = charts.lines(rows, method.replace("_", " "), unit=unit, zone=frame.zone, zero=True)
    description = f"Calibration error by {method}; newest: {rows.iloc[-1]['text']}."
    table = rows[["when", "series", "text"]]
    charts.draw(chart, description, table, "calibration_chart")


def _told(diagram: Diagram) -> pd.DataFrame:
    """The groups as a table, each with the band at the nearest score."""
    groups, band = diagram.groups, diagram.band
    limits = zip(groups["observed"], groups["low"], groups["high"], strict=True)
    told = {
        "mean score": groups["mean_score"].map(lambda value: f"{value:.3f}"),
        "observed": [f"{seen:.3f} ({low:.3f} to {high:.3f})" for seen, low, high in limits],
    }
    if not band.empty:
        told["a perfect model"] = [_nearest(band, float(score)) for score in groups["mean_score"]]
    return pd.DataFrame({**told, "labels": groups["n"].map(words.whole)})


def _nearest(band: pd.DataFrame, score: float) -> str:
    row = band.iloc[int((band["score"] - score).abs().argmin())]
    return f"{row['low']:.3f} to {row['high']:.3f}"
