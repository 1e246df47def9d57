"""Calibration: whether a score of 0.7 comes true 7 times in 10, over time and by group."""

from __future__ import annotations

from dashboards import kit
from dashboards.as_of import choose_known_by
from dashboards.calibration_view import draw_calibration
from dashboards.frame import begin
from dashboards.pick import pick_model
from dashboards.sidebar import chosen_range
from monitor.reports.model import newest_moment

SCORED = ("binary", "multiclass")


def render() -> None:
    """Draw the page."""
    frame = begin("Calibration")
    model = pick_model(frame, by_deployment=True, by_segment=True)
    window = chosen_range(frame, frame.ask(newest_moment, model.id), f"calibration:{model.id}")
    choose_known_by(frame)
    if model.task not in SCORED:
        kit.empty(
            "This model gives no probabilities",
            "Calibration is a question to scores of a binary or multi-class model.",
        )
    elif model.label is None:
        kit.empty(
            "This model has no label",
            "Declare one in its contract: calibration compares scores with what came true.",
        )
    else:
        draw_calibration(frame, model, window)
    frame.link("model", f"All of {model.name}", model=model.name)


render()
