"""The list of alerts: a line each that wraps to a card on a narrow screen."""

from __future__ import annotations

import streamlit as st

from dashboards import kit, sparkline, words
from dashboards.frame import Frame, number_parameter, parameter
from monitor.reports.alert_lines import AlertLine, alert_lines
from monitor.reports.alerts import FIRING_STATES, OPEN_STATES, Finding, FindingFilter, findings

ROWS_A_PAGE = 20
CHOICES: dict[str, tuple[str, ...]] = {
    "Open": OPEN_STATES,
    "Firing": FIRING_STATES,
    "Pending": ("pending",),
    "Resolved": ("resolved",),
    "All": (),
}


def draw_list(frame: Frame, model: str | None = None, column: str | None = None) -> None:
    """Alerts of the project, or of a model or column, with the choice of states above."""
    st.header("Alerts")
    wanted = parameter("alerts") or "Open"
    wanted = wanted if wanted in CHOICES else "Open"
    picked = st.segmented_control(
        "Which alerts", list(CHOICES), default=wanted, key=f"alerts:{wanted}",
        label_visibility="collapsed",
    )  # fmt: skip
    if picked and picked != wanted:
        st.query_params["alerts"] = picked
        st.query_params.pop("alerts_page", None)
        st.rerun()
    chosen = FindingFilter(states=CHOICES[wanted], model=model, column=column)
    page = frame.ask(findings, chosen, number_parameter("alerts_page") or 1, ROWS_A_PAGE)
    if page.total == 0:
        _none(wanted)
        return
    lines = frame.ask(alert_lines, tuple(found.id for found in page.rows))
    for found in page.rows:
        draw_line(frame, found, lines.get(found.id))
    if page.pages > 1:
        kit.pager(page, "alerts_page")


def draw_line(frame: Frame, found: Finding, line: AlertLine | None = None) -> None:
    """One alert: how bad, what, number against threshold, who and what is due."""
    with st.container(border=True):
        left, middle, value, right, link = st.columns(
            [1.5, 3, 2.6, 1.6, 0.9], vertical_alignment="center"
        )
        with left, st.container(horizontal=True, gap="small"):
            draw_badges(frame, found)
        since = words.escape(words.moment(found.since, frame.zone))
        middle.markdown(
            f"**{words.escape(found.sentence)}**  \n{words.code(found.model)} · since {since}",
            help=words.in_utc(found.since, frame.zone),
        )
        with value, st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(value_text(found), width=150)
            if line is not None and any(value is not None for value in line.values):
                sparkline.draw_line(line.values, line.bounds, _line_told(frame, line))
        right.markdown(
            f"**{words.escape(words.response(found.response))}**  \nOwner {words.code(found.owner)}"
        )
        with link:
            frame.link("alert", "Open", alert=str(found.id))


def _line_told(frame: Frame, line: AlertLine) -> str:
    """The small chart in words."""
    known = [value for value in line.values if value is not None]
    bounds = [f"{bound:g}" for bound in line.bounds if bound is not None]
    threshold = f", threshold {' and '.join(bounds)}" if bounds else ""
    return (
        f"{words.plural(len(known), 'window')} up to {words.moment(line.until, frame.zone)}, from"
        f" {words.number(known[0])} to {words.number(known[-1])}{threshold}"
    )


def draw_badges(frame: Frame, found: Finding) -> None:
    """How bad, where it stands, who has it, what is known of its data, what keeps it quiet."""
    kit.severity_badge(found.severity)
    kit.badge(found.state)
    if found.is_open:
        if found.acknowledged_by:
            kit.badge("acknowledged")
        if found.standing in ("escalating", "regressed"):
            kit.badge(found.standing)
        if found.silences:
            kit.badge("silenced")
        if found.snoozed_until is not None and found.snoozed_until > frame.now:
            kit.badge("snoozed")
    if found.archived_by is not None:
        kit.badge("archived")
    if found.data_state != "ok":
        kit.badge(found.data_state)


def value_text(found: Finding) -> str:
    """The number against the threshold, as Markdown."""
    reading = found.judged
    alarm = f"alert when {words.escape(found.threshold)}"
    if reading is None or reading.value is None:
        state = reading.state.replace("_", " ") if reading else "not judged yet"
        return f"**{words.escape(state)}**  \n{alarm}"
    return (
        f"**{words.escape(words.number(reading.value, reading.unit))}**,"
        f" n {words.whole(reading.n)}  \n{alarm}"
    )


def _none(wanted: str) -> None:
    if wanted in ("Open", "Firing", "Pending"):
        kit.empty(
            f"No {'open' if wanted == 'Open' else wanted.lower()} alert",
            "No rule is breached. Whether rules exist and run is told under System health.",
        )
    else:
        kit.empty("No such alert", "Nothing was ever alerted on with this choice.")
