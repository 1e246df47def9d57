"""Quality of a model over time, with what one and the same answer for all would have reached."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame, parameter
from dashboards.pick import choose, choose_scale
from monitor.measurement import MeasurementState
from monitor.reports.measurements import Filter
from monitor.reports.model import Mark, newest_with_detail
from monitor.reports.models import ModelFacts
from monitor.reports.series import Series, series
from monitor.windows import Window

QUALITY = (
    *("auc", "accuracy", "precision", "recall", "f1", "macro_f1", "brier", "log_loss"),
    *("class_recall", "class_precision", "class_auc", "macro_auc", "confidence_auc"),
    *("mae", "rmse", "r2", "mean_error", "mape", "relative_error"),
    *("ndcg_10", "mrr", "recall_1", "recall_10", "label_coverage"),
)
FIRST_SHOWN = ("auc", "accuracy", "mae", "rmse", "ndcg_10")
MOST_CLASSES = 7


def draw_quality(
    frame: Frame, model: ModelFacts, window: Window, happened: tuple[Mark, ...]
) -> None:
    """Quality by the time of the prediction, with intervals, never by when the label came."""
    st.header("Quality")
    if model.label is None:
        kit.empty(
            "This model has no label",
            "Declare a label in the contract and send labels; then quality can be measured.",
        )
        return
    wanted = Filter(checks=("quality",), scale=parameter("quality_windows"))
    found = frame.ask(series, model.id, window, wanted)
    choose_scale(found, "quality_windows")
    remedy = "It needs 50 labels and 5 events a window: wait for labels, or choose more days."
    if not kit.series_state(found, "quality", remedy):
        return
    there = [name for name in QUALITY if not found.of(name).empty]
    there += sorted(set(found.shown["method"]) - set(there))
    first = next((name for name in FIRST_SHOWN if name in there), there[0])
    method = choose("Measure", there, "quality", first=first, told=_measure_name)
    chosen, series_name = _lines_of(found, method)
    unit = str(chosen["unit"].iloc[-1])
    rows = charts.line_frame(chosen, frame.zone, series_name)
    chart = charts.lines(rows, _measure_name(method), unit=unit, marks=happened, zone=frame.zone)
    constant = constant_words(frame, model, window, method, unit)
    description = (
        f"{_measure_name(method)} by window of the prediction; newest"
        f" {_newest(rows, series_name)}.{constant}"
    )
    st.caption(words.escape(description))
    charts.draw(chart, description, _told(rows), "quality_chart")


def _lines_of(found: Series, method: str) -> tuple[pd.DataFrame, str]:
    """The rows of a measure, and whether its lines are deployments or classes.

    Of classes, the ones that did worst at last are drawn, for all deployments together.
    """
    chosen = found.of(method)
    if not chosen["column"].any():
        return chosen, "deployments"
    widest = found.widest()
    widest = widest[widest["method"] == method]
    last = widest.groupby("column").last()["value"].sort_values(kind="stable")
    return widest[widest["column"].isin(last.index[:MOST_CLASSES])], "column"


def _newest(rows: pd.DataFrame, series_name: str) -> str:
    """The newest window with its value; of classes each one's."""
    last = rows.iloc[-1]
    if series_name == "deployments":
        return f"{last['when']}: {last['text']}"
    texts = rows.groupby("series").last()["text"]
    return f"{last['when']}: " + "; ".join(f"{name} {text}" for name, text in texts.items())


def constant_words(frame: Frame, model: ModelFacts, window: Window, method: str, unit: str) -> str:
    """What one and the same answer for all requests would have reached, where it is known."""
    asked = Filter(("quality",), (method,), column="")
    rows = frame.ask(newest_with_detail, model.id, window, asked)
    measured = [row for row in rows if row.state is MeasurementState.MEASURED]
    if not measured:
        return ""
    detail = max(measured, key=lambda row: (row.window.end, len(row.deployment_ids))).detail
    for name, said in (("best_constant", ""), ("best_constant_at_most", "at most ")):
        if detail.get(name) is not None:
            value = words.number(float(detail[name]), unit)
            return f" One and the same answer for all requests would reach {said}{value} at best."
    return ""


def _measure_name(method: str) -> str:
    upper = {
        "auc": "AUC", "f1": "F1", "mae": "MAE", "rmse": "RMSE", "r2": "R²", "macro_f1": "Macro F1",
        "macro_auc": "Macro AUC", "class_auc": "AUC by class", "class_recall": "Recall by class",
        "class_precision": "Precision by class", "confidence_auc": "AUC of the largest score",
        "mape": "MAPE", "mrr": "MRR", "ndcg_10": "NDCG at 10", "recall_1": "Recall at 1",
        "recall_10": "Recall at 10",
    }  # fmt: skip
    return upper.get(method, method.replace("_", " ").capitalize())


def _told(rows: pd.DataFrame) -> pd.DataFrame:
    names = {"when": "window", "series": "series", "text": "value"}
    return rows[list(names)].rename(columns=names)
