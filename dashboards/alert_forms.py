"""What a person can do about an alert: take it on, close it, say what its incident was."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from dashboards import kit
from dashboards.frame import Frame
from monitor.reports.actions import (
    MAX_COMMENT,
    MAX_NAME,
    Verdict,
    acknowledge,
    close_by_hand,
    judge_by_hand,
)
from monitor.reports.alerts import Finding
from monitor.reports.incidents import IncidentFacts

TAKE_ON, CLOSE = "Acknowledge", "Resolve"
OF_ALERTS = {
    TAKE_ON: "You take it on: it stays open and is told as taken on.",
    CLOSE: "Closed by hand: the next breaching window opens it again; the receiver is told.",
}
VERDICTS = {
    "False alarm": Verdict.FALSE_ALARM,
    "Fault": Verdict.FAULT,
    "New normal": Verdict.ADOPT,
}
OF_INCIDENTS = {
    "False alarm": "Its weeks are learned from, the levels of all drift alarms go down for a while"
    " and its open alerts end.",
    "Fault": "Something was broken: its weeks are never learned from.",
    "New normal": "It stays like this: its weeks are learned from.",
}


def draw_forms(frame: Frame, found: Finding, incident: IncidentFacts | None) -> None:
    """The form of an open alert or of its incident; nothing for other alerts that are over."""
    st.subheader("Your turn")
    _said()
    actions = {**(OF_ALERTS if found.is_open else {}), **(OF_INCIDENTS if incident else {})}
    if not found.is_open:
        st.caption("This alert is over; there is nothing to acknowledge or resolve.")
    if not actions:
        return
    with st.form(f"act:{found.id}", border=True):
        what = st.radio(
            "What to do", list(actions), horizontal=len(actions) <= len(OF_ALERTS),
            captions=list(actions.values()),
        )  # fmt: skip
        by = st.text_input("Your name", max_chars=MAX_NAME, key="acting_person")
        comment = st.text_area("Comment", max_chars=MAX_COMMENT, height=80)
        sent = st.form_submit_button("Save")
    if sent:
        _act(frame, found, incident, what, by, comment)


def _act(
    frame: Frame,
    found: Finding,
    incident: IncidentFacts | None,
    what: str,
    by: str,
    comment: str,
) -> None:
    now = datetime.now(UTC)
    if what in VERDICTS and incident is not None:
        verdict = VERDICTS[what]
        problem = frame.do(judge_by_hand, incident.id, verdict, by, comment, now)
    elif what == TAKE_ON:
        problem = frame.do(acknowledge, found.id, by, comment, now)
    else:
        problem = frame.do(close_by_hand, found.id, by, comment, now)
    if problem is not None:
        kit.failed("This was not saved", problem)
        return
    st.session_state["saved"] = f"{what}: saved."
    st.rerun()


def _said() -> None:
    """What the last press of the button did."""
    saved = st.session_state.pop("saved", None)
    if saved:
        st.success(saved, icon=":material/check:")
