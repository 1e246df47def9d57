"""What holds for all alerts of a project: silences in force, stopped actions, untried rules."""

from __future__ import annotations

import streamlit as st

from dashboards import words
from dashboards.alert_forms import draw_end_of_silence
from dashboards.alert_told import silence_line
from dashboards.frame import Frame
from monitor.reports.responses import rehearsals_told, response_status
from monitor.reports.silences import silence_lines

SHOWN = 20


def draw_in_force(frame: Frame) -> None:
    """Silences with the button that ends each, the kill switch, rules that were never rehearsed."""
    status = frame.ask(response_status, frame.now.replace(second=0, microsecond=0))
    if status.switch is not None and status.is_stopped:
        since = words.moment(status.switch.at, frame.zone)
        st.warning(
            words.escape(
                f"Actions are stopped by {status.switch.by} since {since}: {status.switch.reason}."
                " The command inferwatch respond resume lets them go on."
            ),
            icon=":material/front_hand:",
        )
    _draw_silences(frame)
    untried = sorted(frame.ask(rehearsals_told).untried)
    if untried:
        named = ", ".join(words.code(each) for each in untried[:5])
        more = f" and {words.whole(len(untried) - 5)} more" if len(untried) > 5 else ""
        st.caption(
            f":material/warning: {words.plural(len(untried), 'rule')} without a rehearsal that"
            f" passed as the rule is now: {named}{more}."
        )


def _draw_silences(frame: Frame) -> None:
    lines = frame.ask(silence_lines)
    if not lines:
        return
    st.header("Silences")
    for line in lines[:SHOWN]:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            ahead = line.silence.starts_at > frame.now
            begins = words.moment(line.silence.starts_at, frame.zone)
            said = silence_line(frame, line.silence) + (f" (from {begins})" if ahead else "")
            st.markdown(f":material/notifications_off: {words.escape(said)}")
            draw_end_of_silence(frame, line.silence.id, "list")
    if len(lines) > SHOWN:
        st.caption(f"{words.whole(len(lines) - SHOWN)} more: `inferwatch alerts silence list`.")
