"""What a person can do to an alert: take it on, or close it by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from dashboards import kit
from dashboards.frame import Frame
from monitor.reports.actions import MAX_COMMENT, MAX_NAME, acknowledge, close_by_hand
from monitor.reports.alerts import Finding
from monitor.settings import Settings

TAKE_ON, CLOSE = "Take it on", "Close by hand"
ACTIONS = {
    TAKE_ON: "It stays open and is told as taken on.",
    CLOSE: "The next breaching window opens it again; the receiver is told of the end.",
}


def draw_forms(frame: Frame, found: Finding) -> None:
    """The form of an open alert; nothing for one that is over."""
    st.subheader("Your turn")
    _said()
    if not found.is_open:
        st.caption("This alert is over; there is nothing to take on or close.")
        return
    with st.form(f"act:{found.id}", border=True):
        what = st.radio(
            "What to do", list(ACTIONS), horizontal=True,
            captions=list(ACTIONS.values()),
        )  # fmt: skip
        by = st.text_input("Your name", max_chars=MAX_NAME, key="acting_person")
        comment = st.text_area("Comment", max_chars=MAX_COMMENT, height=80)
        sent = st.form_submit_button("Save")
    if sent:
        _act(frame, found, what, by, comment)


def _act(frame: Frame, found: Finding, what: str, by: str, comment: str) -> None:
    now = datetime.now(UTC)
    if what == TAKE_ON:
        problem = frame.do(acknowledge, found.id, by, comment, now)
    else:
        address = Settings.from_environment().public_url
        problem = frame.do(close_by_hand, found.id, by, comment, now, address)
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
