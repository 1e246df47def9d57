"""The list of alerts: a line each that wraps to a card on a narrow screen."""

from __future__ import annotations

import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame, number_parameter, parameter
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
    st.subheader("Alerts")
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
    for found in page.rows:
        draw_line(frame, found)
    if page.pages > 1:
        kit.pager(page, "alerts_page")


def draw_line(frame: Frame, found: Finding) -> None:
    """One alert: how bad, what, number against threshold, who and what is due."""
    with st.container(border=True):
        left, middle, value, right, link = st.columns(
            [1.5, 3.2, 2, 1.6, 0.8], vertical_alignment="center"
        )
        with left, st.container(horizontal=True, gap="small"):
            draw_badges(frame, found)
        since = words.escape(words.moment(found.since, frame.zone))
        middle.markdown(
            f"**{words.escape(found.sentence)}**  \n{words.code(found.model)} · since {since}"
        )
        value.markdown(value_text(found))
        right.markdown(
            f"**{words.escape(words.response(found.response))}**  \nOwner {words.code(found.owner)}"
        )
        with link:
            frame.link("alert", "Open", alert=str(found.id))


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
