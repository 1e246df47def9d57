"""The day as of which measurements are shown, kept in the address as `as_of`."""

from __future__ import annotations

from datetime import date

import streamlit as st

from dashboards.frame import AS_OF, Frame, parameter
from dashboards.words import escape
from monitor.reports.time_range import parse_day

HELP = "Late and corrected labels make new revisions; empty shows the newest ones."


def choose_known_by(frame: Frame) -> None:
    """The choice of the day, and what it means for this page."""
    day = parse_day(parameter(AS_OF))
    if day is None:
        title = f"As known at the end of ({escape(frame.zone.key)})"
        with st.sidebar:
            picked = st.date_input(title, None, key="as_of:none", format="YYYY-MM-DD", help=HELP)
        if isinstance(picked, date):
            st.query_params[AS_OF] = picked.isoformat()
            st.rerun()
        return
    st.info(
        f"Measurements are shown as they were known at the end of {day.isoformat()}. Traffic,"
        " alerts and the promise are today's.",
        icon=":material/history:",
    )
    if st.button("Show the newest revisions", key="as_of:newest"):
        st.query_params.pop(AS_OF, None)
        st.rerun()
