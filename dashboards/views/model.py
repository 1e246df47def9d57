"""One model: traffic, quality, calibration, drift of all columns and latency over time."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import charts, findings, kit, words
from dashboards.as_of import choose_known_by
from dashboards.calibration_view import draw_calibration
from dashboards.drift_view import draw_drift
from dashboards.estimate_view import draw_estimates
from dashboards.frame import Frame, begin, number_parameter, parameter
from dashboards.golden_view import draw_golden
from dashboards.latency_view import draw_latency
from dashboards.pick import pick_model
from dashboards.promise_view import draw_promise
from dashboards.quality_view import draw_quality
from dashboards.serving_operation import draw_times
from dashboards.serving_stages import draw_stages
from dashboards.sidebar import chosen_range
from dashboards.signals_view import draw_signals
from monitor.reports.measurements import Filter, measurement_page
from monitor.reports.model import Mark, marks, newest_moment, traffic
from monitor.reports.models import ModelFacts, deployments
from monitor.reports.operation import operation_of
from monitor.reports.series import Series, series
from monitor.windows import Window

RATES = ("error_rate", "abstention_rate")


def draw_facts(frame: Frame, model: ModelFacts) -> None:
    """Purpose, owner and contract in one line each."""
    st.text(words.clean(model.purpose))
    version = f"contract version {model.version}" if model.version else "no contract"
    label = f"label {words.code(model.label)}" if model.label else "no label"
    st.caption(
        f"Owner {words.code(model.owner)} · risk {words.escape(model.risk_tier)} ·"
        f" {words.escape(model.task or 'no task')} · {label} · {version}"
    )
    rows = [
        (
            each.title,
            words.moment(each.first_request, frame.zone),
            words.moment(each.last_request, frame.zone),
            ", ".join(each.changed) or "–",
            each.tags,
        )
        for each in frame.ask(deployments, model.id)
    ]
    if rows:
        names = ["deployment", "first request", "last request", "changed to the one before", "tags"]
        with st.expander(f"Deployments: {len(rows)}"):
            kit.table(pd.DataFrame(rows, columns=names), "Deployments of this model")


def draw_traffic(
    frame: Frame, model: ModelFacts, window: Window, happened: tuple[Mark, ...]
) -> None:
    """Requests over time and how many predictions have a label."""
    st.header("Traffic and outcomes")
    found = frame.ask(traffic, model.id, window, frame.zone.key, frame.deployment)
    if not found.requests:
        kit.empty(
            "No requests in these days",
            "Choose other days, or check that the producer sends and the profile job runs.",
        )
        return
    with st.container(horizontal=True):
        st.metric("Requests", words.whole(found.requests), width=180)
        share = found.labelled / found.predictions if found.predictions else None
        st.metric("Labelled", words.number(share, "share"), width=180)
        rates = frame.ask(series, model.id, window, Filter(checks=("serving",), methods=RATES))
        for method, name in zip(RATES, ("Errors", "Abstained"), strict=True):
            _newest_share(rates, method, name)
    chart = charts.traffic_bars(found.frame, found.bucket, frame.zone, happened)
    told = found.frame.assign(
        at=[words.moment(at, frame.zone) for at in found.frame["at"]],
        n=found.frame["n"].map(words.whole),
    )
    description = (
        f"Requests a {found.bucket} by deployment: {words.whole(found.requests)} in all,"
        f" {words.whole(found.labelled)} of {words.whole(found.predictions)} predictions labelled."
    )
    charts.marks_caption(happened)
    charts.draw(chart, description, told, "traffic")


def _newest_share(rates: Series, method: str, name: str) -> None:
    found = rates.widest()
    found = found[found["method"] == method]
    if not found.empty:
        st.metric(name, words.number(float(found["value"].iloc[-1]), "share"), width=180)


def draw_all(frame: Frame, model: ModelFacts, window: Window) -> None:
    """Every outcome of these days, a page at a time."""
    st.header("All measurements")
    states = ("any state", "measured", "too_few", "failed")
    state = st.selectbox("State", states, key="rows_state", bind="query-params")
    wanted = Filter(states=() if state == states[0] else (state,))
    number = number_parameter("rows_page") or 1
    page = frame.ask(measurement_page, model.id, window, wanted, number)
    if not page.total:
        kit.empty("No such measurement", "Choose other days or another state.")
        return
    rows = [
        (
            words.span(row.window.start, row.window.end, frame.zone),
            row.check,
            f"{row.method} v{row.method_version}",
            row.column,
            row.state.value.replace("_", " "),
            row.reason or words.measured(row.value, row.low, row.high, row.level, row.n, row.unit),
            ", ".join(map(str, row.deployment_ids)),
            words.moment(row.known_at, frame.zone),
        )
        for row in page.rows
    ]
    names = ["window", "check", "method", "column", "state", "value", "deployments", "known at"]
    kit.table(pd.DataFrame(rows, columns=names), f"{words.whole(page.total)} measurements")
    kit.pager(page, "rows_page")


SECTIONS: dict[str, tuple[str, str]] = {
    "traffic": ("Traffic", "What came in, how did it end, and what is wrong now?"),
    "quality": ("Quality", "Is the model right, and do its scores mean what they say?"),
    "drift": ("Drift", "What has moved, and can the alarms be believed?"),
    "latency": ("Latency", "How long does it take, and which stage makes it slow?"),
    "people": ("People", "What do those say and do who use the answers?"),
    "golden": ("Golden sets", "Does a new deployment answer known requests as before?"),
    "rows": ("All measurements", "What exactly was measured, of whom, and when was it known?"),
}


def pick_section() -> str:
    """The question that the page answers now, kept in the address as `section`."""
    wanted = parameter("section") or "traffic"
    wanted = wanted if wanted in SECTIONS else "traffic"
    picked = st.segmented_control(
        "Section", list(SECTIONS), default=wanted, required=True, key=f"section:{wanted}",
        format_func=lambda name: SECTIONS[name][0], label_visibility="collapsed",
    )  # fmt: skip
    if picked != wanted:
        st.query_params["section"] = picked
        st.rerun()
    st.markdown(f"**{SECTIONS[wanted][1]}**")
    return wanted


def draw_section(frame: Frame, model: ModelFacts, window: Window, section: str) -> None:
    """One section: what answers its question."""
    if section == "golden":
        draw_golden(frame, model)
    elif section == "rows":
        draw_all(frame, model, window)
    elif section == "latency":
        draw_latency(frame, model, window)
        draw_timings(frame, model, window)
    else:
        happened = frame.ask(marks, model.name, model.id, window)
        if section == "quality":
            draw_quality(frame, model, window, happened)
            draw_estimates(frame, model, window)
            draw_calibration(frame, model, window)
        elif section == "drift":
            draw_drift(frame, model, window, happened)
            draw_promise(frame, model)
        elif section == "people":
            draw_signals(frame, model, window, happened)
        else:
            draw_traffic(frame, model, window, happened)
            findings.draw_list(frame, model=model.name)


def draw_timings(frame: Frame, model: ModelFacts, window: Window) -> None:
    """Percentiles of every timing, those of stages among them, and the critical path."""
    report = frame.ask(operation_of, model.name, window, frame.deployments)
    if report is None or not report.n:
        return
    draw_times(report)
    draw_stages(report)
    frame.link("serving", "More on Serving: outcomes, queue, tokens, costs", model=model.name)


def render() -> None:
    """Draw the page."""
    frame = begin("Model")
    model = pick_model(frame, by_deployment=True, by_segment=True)
    window = chosen_range(frame, frame.ask(newest_moment, model.id), f"model:{model.id}")
    choose_known_by(frame)
    draw_facts(frame, model)
    draw_section(frame, model, window, pick_section())


render()
