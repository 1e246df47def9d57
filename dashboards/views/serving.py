"""Serving: how requests ended, how long they took, which stage to shorten, what it costs."""

from __future__ import annotations

import streamlit as st

from dashboards import kit
from dashboards.frame import begin
from dashboards.pick import pick_model
from dashboards.serving_operation import draw_outcomes, draw_times
from dashboards.serving_sections import SECTIONS
from dashboards.serving_stages import draw_stages
from dashboards.sidebar import chosen_range
from monitor.reports.model import newest_moment
from monitor.reports.operation import operation_of


def render() -> None:
    """Draw the page."""
    frame = begin("Serving")
    model = pick_model(frame, by_deployment=True)
    window = chosen_range(frame, frame.ask(newest_moment, model.id), f"serving:{model.id}")
    report = frame.ask(operation_of, model.name, window, frame.deployments)
    if report is None or not report.n:
        kit.empty(
            "No requests in these days",
            "Choose other days, or check that the producer sends and the profile job runs.",
        )
    else:
        draw_outcomes(frame, report)
        draw_times(report)
        draw_stages(report)
    if frame.deployment is not None:
        st.caption(":material/filter_alt_off: What follows is of all deployments together.")
    for draw in SECTIONS:
        draw(frame, model, window)
    frame.link("model", f"All of {model.name}", model=model.name)


render()
