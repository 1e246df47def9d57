"""The forms of an alert's page: what to do about it, how an action went, the end of a silence."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from dashboards import kit, words
from dashboards.alert_deeds import LENGTHS, USUAL_LENGTH, Answer, Deed, Done, deeds_for
from dashboards.frame import Frame
from monitor.access import Right
from monitor.reports.actions import (
    MAX_COMMENT,
    MAX_NAME,
    ActionOutcome,
    end_silence_by_hand,
    report_by_hand,
)
from monitor.reports.alerts import Finding
from monitor.reports.incidents import IncidentFacts

NAME_KEY = "acting_person"
OUTCOMES = {
    "Done": ActionOutcome.DONE,
    "Failed": ActionOutcome.FAILED,
    "Refused": ActionOutcome.REFUSED,
}


def draw_forms(frame: Frame, found: Finding, incident: IncidentFacts | None) -> None:
    """What to do, and the form of what was chosen; a sentence when there is nothing left to do."""
    st.header("Your turn")
    _said()
    possible = deeds_for(found, incident)
    deeds = {name: deed for name, deed in possible.items() if frame.may(deed.right)}
    if possible and not deeds:
        st.caption(f"Your role here, {frame.role}, does not allow to act on alerts.")
    if not found.is_open:
        st.caption("This alert is over; there is nothing to acknowledge or resolve.")
    if not deeds:
        return
    with st.container(border=True):
        what = st.radio("What to do", list(deeds), horizontal=True, key=f"what:{found.id}")
        _draw_form(frame, found, deeds[what])


def _draw_form(frame: Frame, found: Finding, deed: Deed) -> None:
    st.caption(words.escape(deed.caption))
    with st.form(f"act:{found.id}:{deed.name}", border=False):
        by = _who(frame, "Your name", deed.name)
        length = USUAL_LENGTH
        if deed.asks_length:
            names = list(LENGTHS)
            length = st.selectbox("For how long", names, index=names.index(USUAL_LENGTH))
        only_this = deed.asks_only_this and st.checkbox("Only this very subject (all labels)")
        dry_run = deed.asks_dry_run and st.checkbox("Dry run: only try it")
        comment = ""
        if deed.comment is not None:
            comment = st.text_area(deed.comment, max_chars=MAX_COMMENT, height=80)
        sent = st.form_submit_button(deed.name)
    if sent:
        st.session_state[NAME_KEY] = by
        answer = Answer(by, comment, LENGTHS[length], only_this, dry_run)
        _tell(deed.do(frame, found, answer))


def draw_outcome_form(frame: Frame, number: int) -> None:
    """How an action went, for one that was asked for and has no outcome yet."""
    if not frame.may(Right.RESPOND):
        return
    with st.form(f"outcome:{number}", border=False):
        st.markdown(f"**How did action {number} go?**")
        picked = st.radio("Outcome", list(OUTCOMES), horizontal=True)
        by = _who(frame, "Who reports it", f"outcome:{number}")
        detail = st.text_input("What happened", max_chars=500)
        sent = st.form_submit_button("Report the outcome")
    if sent:
        outcome = OUTCOMES[picked]
        problem = frame.do(
            report_by_hand, number, outcome, by, detail, datetime.now(UTC), right=Right.RESPOND
        )
        _tell(Done(problem, f"Outcome of action {number} recorded."))


def draw_end_of_silence(frame: Frame, number: int, place: str) -> None:
    """The button that ends a silence, with the name it needs."""
    if not frame.may(Right.SILENCE):
        return
    with st.popover("End it", icon=":material/notifications_active:"):
        with st.form(f"end:{place}:{number}", border=False):
            by = _who(frame, "Your name", f"end:{place}:{number}")
            sent = st.form_submit_button(f"End silence {number}")
        if sent:
            problem = frame.do(
                end_silence_by_hand, number, by, datetime.now(UTC), right=Right.SILENCE
            )
            _tell(Done(problem, f"Silence {number} is over; what still fires is told now."))


def _who(frame: Frame, label: str, key: str) -> str:
    """The signed-in person; where there is no sign-in, who they say they are."""
    name = frame.visitor.name
    if name is not None:
        st.caption(f"As {words.code(name)}")
        return name
    return st.text_input(
        label, max_chars=MAX_NAME, key=f"{NAME_KEY}:{key}",
        value=st.session_state.get(NAME_KEY, ""),
    )  # fmt: skip


def _tell(done: Done) -> None:
    if done.problem is not None:
        kit.failed("This was not saved", done.problem)
        return
    st.session_state["saved"] = done.said
    st.rerun()


def _said() -> None:
    """What the last press of a button did."""
    saved = st.session_state.pop("saved", None)
    if saved:
        st.success(words.escape(saved), icon=":material/check:")
