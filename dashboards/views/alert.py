"""One alert: what, since when, how sure; the evidence; who answers and how; what happened."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from alerts.rules import Rule
from alerts.summaries import WORDING
from dashboards import charts, findings, kit, words
from dashboards.alert_evidence import (
    band_words,
    draw_changed,
    draw_under,
    usual_band,
    with_band,
)
from dashboards.alert_forms import draw_forms
from dashboards.alert_told import draw_actions, draw_quiet, draw_rehearsal, draw_told
from dashboards.frame import Frame, begin, number_parameter, parameter
from dashboards.incident_view import draw_columns, draw_incident, incident_behind
from dashboards.serving_server import draw_servers
from dashboards.silences_view import draw_in_force
from monitor.reports.alert_detail import AlertDetail, alert_detail, span_of
from monitor.reports.alerts import Finding, locate
from monitor.reports.model import marks
from monitor.reports.rules import bounds_of
from monitor.reports.series import make_series

STANDINGS = {
    "escalating": "It got much worse than it was when it was told first.",
    "regressed": "It is open again soon after it was resolved.",
}
ICONS = {
    "action": ":material/build:",
    "transition": ":material/swap_horiz:",
    "delivery": ":material/outbox:",
    "attempt": ":material/send:",
}


def draw_sentence(frame: Frame, detail: AlertDetail) -> None:
    """What, since when, how sure, in words."""
    found = detail.finding
    with st.container(horizontal=True, vertical_alignment="center"):
        findings.draw_badges(frame, found)
    st.header(words.escape(found.sentence), anchor=False)
    st.markdown("  \n".join(words.escape(line) for line in sentences(frame, detail)))


def sentences(frame: Frame, detail: AlertDetail) -> list[str]:
    """The facts of an alert as sentences of plain text."""
    found, reading = detail.finding, detail.finding.judged
    said = []
    if reading is not None and reading.value is not None:
        inner = words.interval(reading.low, reading.high, 0.95, reading.unit)
        inner = inner.replace("95 % interval", "interval") if inner else "no interval is known"
        said.append(
            f"Newest judged value {words.number(reading.value, reading.unit)} ({inner}) of"
            f" {words.plural(reading.n, 'row')}, window"
            f" {words.span(reading.window_start, reading.at, frame.zone)};"
            f" alert when {found.threshold}."
        )
    elif reading is not None:
        said.append(f"Newest window ended as {reading.state}: {reading.text}")
    said.append(_since(frame, found))
    told_false = detail.told_false_in_30_days
    but = f", and {told_false} told as a false alarm" if told_false else ""
    said.append(f"Fired {words.plural(detail.fired_in_30_days, 'time')} in 30 days{but}.")
    if found.rule is not None and found.rule.about is not None:
        said.append(WORDING[found.rule.about])
    if found.data_state != "ok":
        said.append("Since then no window could be judged; missing data never ends an alert.")
    if found.is_open and found.standing in STANDINGS:
        said.append(STANDINGS[found.standing])
    return said


def _since(frame: Frame, found: Finding) -> str:
    when = words.moment(found.since, frame.zone)
    if found.state == "resolved":
        reason = (found.resolved_reason or "").replace("_", " ")
        return f"Resolved {words.moment(found.resolved_at, frame.zone)}: {reason}."
    fired = f", fired {words.moment(found.fired_at, frame.zone)}" if found.fired_at else ""
    taken = ""
    if found.acknowledged_by:
        at = words.moment(found.acknowledged_at, frame.zone)
        taken = f" Taken on by {found.acknowledged_by} {at}."
    return f"{found.state.capitalize()} since {when}{fired}, episode {found.episode}.{taken}"


def draw_evidence(frame: Frame, detail: AlertDetail) -> None:
    """The measurements the rule looked at, with the threshold, and what changed meanwhile."""
    st.header("Evidence")
    found = detail.finding
    series = make_series(detail.series, {}, "window" if detail.series else None)
    remedy = "The measurements behind it are gone or carry other labels; open the model instead."
    if kit.series_state(series, "value of this alert", remedy):
        rows = charts.line_frame(series.shown, frame.zone, "method")
        happened = (
            frame.ask(marks, found.model, detail.model_id, span_of(found))
            if detail.model_id is not None
            else ()
        )
        unit = str(series.shown["unit"].iloc[-1])
        chart = charts.lines(
            rows, str(rows["series"].iloc[-1]).replace("_", " "), unit=unit,
            bounds=bounds_of(found.rule), marks=happened, zone=frame.zone,
        )  # fmt: skip
        charts.marks_caption(happened)
        band = usual_band(series.shown, found.fired_at or found.since)
        usual = band_words(band, unit)
        st.caption(words.escape(usual))
        description = f"{found.sentence}. Newest: {rows.iloc[-1]['text']}. {usual}"
        charts.draw(
            with_band(chart, band), description, rows[["when", "series", "text"]], "evidence"
        )
    draw_servers(detail.servers)
    with st.container(horizontal=True):
        frame.link("model", f"Model {found.model}", model=found.model)
        if column := found.labels.get("column"):
            frame.link("column", f"Column {column}", model=found.model, column=column)
    _draw_labels(found)


def _draw_labels(found: Finding) -> None:
    rows = [("rule", found.rule_name), *sorted(found.labels.items())]
    reading = found.judged
    if reading is not None:
        rows += [(name, str(value)) for name, value in sorted(reading.evidence.items())]
    with st.expander("Labels and what else is known"):
        kit.table(pd.DataFrame(rows, columns=["name", "value"]), "Labels of the alert")


def draw_response(frame: Frame, detail: AlertDetail) -> None:
    """Who answers, what is due, and under which conditions."""
    st.header("Response")
    found = detail.finding
    with st.container(border=True):
        named = f" ({words.code(found.response_name)})" if found.response_name else ""
        st.markdown(
            f":material/build: **{words.escape(words.response(found.response))}**{named} ·"
            f" :material/group: owner {words.code(found.owner)}"
        )
        _draw_rule(found.rule, found.id)
        draw_rehearsal(frame, found.rule_name)


def _draw_rule(rule: Rule | None, alert: int) -> None:
    if rule is None:
        st.caption("The rule's text can't be read by this version; see alerts.yaml.")
        return
    told = (
        ("Impact", rule.impact),
        ("Before you act", rule.precondition),
        ("How far it may go", rule.limit),
    )
    for name, text in told:
        if text:
            st.markdown(f"**{name}:** {words.escape(text)}")
    if command := rule.command_for(alert):
        st.markdown("**Command:**")
        st.code(words.clean(command), language=None, wrap_lines=True)
    if rule.runbook:
        st.markdown("**Runbook:**")
        st.code(words.clean(rule.runbook), language=None, wrap_lines=True)
    else:
        st.caption("The rule names no runbook.")


def draw_timeline(frame: Frame, detail: AlertDetail) -> None:
    """Changes of state, people's words and deliveries, the newest first."""
    st.header("Timeline")
    if not detail.timeline:
        kit.empty("Nothing was recorded yet", "The first change of state will stand here.")
        return
    with st.container(border=True):
        for event in detail.timeline:
            left, right = st.columns([1, 3])
            left.caption(words.escape(words.moment(event.at, frame.zone, seconds=True)))
            by = f" · by {words.code(event.by)}" if event.by else ""
            right.markdown(f"{ICONS[event.kind]} {words.escape(event.what)}{by}")
            if event.comment:
                right.text(kit.clean_lines(event.comment))


def draw_others(frame: Frame, detail: AlertDetail) -> None:
    """Other open alerts of the model: drift beside quality, and the other way round."""
    if not detail.others:
        return
    st.header("Also open for this model")
    for other in detail.others:
        findings.draw_line(frame, other)


def pick_alert(frame: Frame) -> int | None:
    """The alert of the address, by number or by the fingerprint that messages carry."""
    number = number_parameter("alert")
    fingerprint = parameter("fingerprint")
    if number is None and fingerprint is not None:
        found = frame.ask(_located, fingerprint)
        names = {each.id: each.name for each in frame.projects}
        if found is None or found[0] not in names:  # also where its project is not open to them
            kit.failed("This alert is not known", "The link may be of another installation.")
            return None
        project_id, number = found
        if project_id != frame.project.id:
            st.query_params.from_dict({"project": names[project_id], "alert": str(number)})
            st.rerun()
    return number


def _located(engine: Any, _project_id: int, fingerprint: str) -> tuple[int, int] | None:
    """A message names no project: the fingerprint is looked for in all of them."""
    return locate(engine, fingerprint)


def render() -> None:
    """Draw the page."""
    frame = begin("Alert")
    number = pick_alert(frame)
    if number is None:
        findings.draw_list(frame)
        draw_in_force(frame)
        return
    detail = frame.ask(alert_detail, number)
    draw_sentence(frame, detail)
    incident = incident_behind(frame, detail.finding)
    left, right = st.columns([3, 2])
    with left:
        if incident is not None:
            draw_incident(frame, incident)
        draw_evidence(frame, detail)
        draw_changed(frame, detail)
    with right:
        draw_quiet(frame, detail.finding)
        draw_response(frame, detail)
        draw_forms(frame, detail.finding, incident)
        draw_actions(frame, detail)
    if incident is not None:
        draw_columns(frame, incident)
    draw_under(frame, detail)
    left, right = st.columns([3, 2])
    with left:
        draw_timeline(frame, detail)
    with right:
        draw_told(frame, detail)
    draw_others(frame, detail)


render()
