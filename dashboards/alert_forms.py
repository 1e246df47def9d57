"""What a person can do to an alert: take it on, or close it by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from dashboards import kit
from dashboards.frame import Frame
from monitor.reports.actions import MAX_COMMENT, MAX_NAME, acknowledge, close_by_hand
from monitor.reports.alerts import Finding

ACTIONS = {
    "Take it on": ("acknowledge", acknowledge, "It stays open and is told as taken on."),
    "Close by hand": ("close", close_by_hand, "The next breaching window opens it again."),
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
            captions=[caption for _, _, caption in ACTIONS.values()],
        )  # fmt: skip
        by = st.text_input("Your name", max_chars=MAX_NAME, key="acting_person")
        comment = st.text_area("Comment", max_chars=MAX_COMMENT, height=80)
        sent = st.form_submit_button("Save")
    if sent:
        _act(frame, found, what, by, comment)


def _act(frame: Frame, found: Finding, what: str, by: str, comment: str) -> None:
    _, action, _ = ACTIONS[what]
    problem = frame.do(action, found.id, by, comment, datetime.now(UTC))
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
