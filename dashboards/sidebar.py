"""The choices beside every page: days and deployment. They stand in the address.

Streamlit drops the address's parameters when one goes on by the menu; the shared ones are
remembered for the session, so that the next page shows the same model, days and deployment. An
address that names anything is taken as it stands.
"""

from __future__ import annotations

from datetime import date, datetime

import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame, parameter
from monitor.reports.column_segments import segments_of
from monitor.reports.models import DeploymentFacts, ModelFacts, deployments
from monitor.reports.time_range import (
    DEFAULT_RANGE,
    RANGES,
    days_of,
    newest_range,
    parse_day,
    window_of_days,
)
from monitor.windows import Window

SHARED = ("project", "zone", "model", "range", "from", "to", "deployment", "segment", "as_of")
KEPT = "choices_of_this_session"
CUSTOM = "custom"
RANGE_NAMES = {"24h": "24 h", "7d": "7 d", "30d": "30 d", CUSTOM: "Days"}
WHOLE_DAYS = (
    "Counted back from the newest data, in whole days of your zone. Choose Days for others."
)


def restore() -> None:
    """Give an address that names nothing the choices that were made on the page before."""
    if not st.query_params and st.session_state.get(KEPT):
        st.query_params.from_dict(st.session_state[KEPT])


def remember() -> None:
    """Keep the shared choices of this page for the next one."""
    there = ((name, parameter(name)) for name in SHARED)
    st.session_state[KEPT] = {name: value for name, value in there if value is not None}


def chosen_range(frame: Frame, newest: datetime | None, key: str) -> Window:
    """The days of the address, else the newest ones with data; the widgets write them back."""
    end = min(newest, frame.now) if newest is not None else frame.now
    with st.sidebar:
        window = _pick_range(frame, end, key)
    _say(frame, window, newest)
    return window


def choose_days(frame: Frame) -> Window | None:
    """The same for a page of many models: None where each shows its own newest days."""
    with st.sidebar:
        window = _pick_range(frame, frame.now, "all")
    if range_of_address() != CUSTOM:
        return None
    _say(frame, window, None)
    return window


def pick_deployment(frame: Frame, model: ModelFacts) -> None:
    """The choice of one deployment in the sidebar; ends the page when the model has none of it."""
    known = {each.id: each for each in frame.ask(deployments, model.id)}
    wanted = frame.deployment
    if wanted is not None and wanted not in known:
        kit.failed(
            "There is no such deployment",
            f"{model.name} has no deployment {wanted}; choose another, or all of them, beside.",
        )
    with st.sidebar:
        picked = st.selectbox(
            "Deployment", [None, *known], index=[None, *known].index(wanted) if wanted in known
            else 0, format_func=lambda number: _name(known.get(number)),
            key=f"deployment:{model.id}:{wanted}",
        )  # fmt: skip
    if picked != wanted and (picked is not None or wanted in known):
        _write("deployment", None if picked is None else str(picked))
        st.rerun()
    if wanted is not None and wanted not in known:
        st.stop()
    if wanted is not None:
        st.caption(
            f":material/filter_alt: Only deployment {words.code(known[wanted].title)}. Alerts,"
            " incidents and the promise are of all deployments."
        )


def pick_segment(frame: Frame, model: ModelFacts) -> None:
    """The choice of one segment in the sidebar, where the model has any; ends the page when the
    address names one that it has not."""
    names = frame.ask(segments_of, model.id)
    wanted = parameter("segment")
    number = next((each for each, name in names.items() if name == wanted), None)
    if wanted is not None and number is None:
        kit.failed(
            "There is no such segment",
            f"{model.name} has no segment {wanted}; choose another, or all requests, beside.",
        )
    if not names and wanted is None:
        return
    with st.sidebar:
        options = [None, *names]
        picked = st.selectbox(
            "Segment", options, index=options.index(number),
            format_func=lambda each: "All requests" if each is None else words.clean(names[each]),
            key=f"segment:{model.id}:{wanted}",
        )  # fmt: skip
        if number is None and wanted is not None and st.button("Show all requests"):
            _write("segment", None)
            st.rerun()
    if picked != number:
        _write("segment", None if picked is None else names[picked])
        st.rerun()
    if wanted is not None and number is None:
        st.stop()
    frame.narrowing.segment = number
    if wanted is not None:
        st.caption(
            f":material/filter_alt: Only segment {words.code(wanted)}, where a number was measured"
            " of it. Traffic, alerts, incidents and the promise are of all requests."
        )


def days_of_address() -> tuple[date, date] | None:
    """The days that the address names itself, in their order."""
    first, last = parse_day(parameter("from")), parse_day(parameter("to"))
    first, last = first or last, last or first
    return (min(first, last), max(first, last)) if first and last else None


def range_of_address() -> str:
    """Which choice of days the address names: a name of RANGES, or custom."""
    if days_of_address() is not None:
        return CUSTOM
    name = parameter("range") or DEFAULT_RANGE
    return name if name in RANGES else DEFAULT_RANGE


def _pick_range(frame: Frame, end: datetime, key: str) -> Window:
    chosen, days = range_of_address(), days_of_address()
    window = window_of_days(*days, frame.zone) if days else newest_range(end, frame.zone, chosen)
    picked = st.segmented_control(
        "Time range", list(RANGE_NAMES), default=chosen, format_func=RANGE_NAMES.__getitem__,
        required=True, key=f"{key}:range:{chosen}", help=WHOLE_DAYS,
    )  # fmt: skip
    if picked != chosen:
        first, last = days_of(window, frame.zone) if picked == CUSTOM else (None, None)
        _write("from", first.isoformat() if first else None)
        _write("to", last.isoformat() if last else None)
        _write("range", None if picked == CUSTOM else picked)
        st.rerun()
    return _pick_days(frame, days, key) if days else window


def _pick_days(frame: Frame, days: tuple[date, date], key: str) -> Window:
    title = f"Days ({words.escape(frame.zone.key)})"
    picked = st.date_input(
        title, days, key=f"{key}:{days[0]}:{days[1]}", format="YYYY-MM-DD"
    )  # half a choice is one date only: wait for the second
    if isinstance(picked, tuple) and len(picked) == 2 and picked != days:
        days = picked
        st.query_params["from"], st.query_params["to"] = (day.isoformat() for day in days)
    return window_of_days(*days, frame.zone)


def _say(frame: Frame, window: Window, newest: datetime | None) -> None:
    """The days that are shown, on the page itself: the sidebar may be closed."""
    told = words.span(window.start, window.end, frame.zone)
    stale = newest is not None and (frame.now - newest).total_seconds() > 86_400
    late = f" · the newest data ends {words.ago(newest, frame.now)}" if stale else ""
    st.caption(
        f":material/date_range: {words.escape(f'{told}, zone {frame.zone.key}{late}')}",
        help=words.in_utc(window.start, frame.zone, window.end),
    )


def _name(facts: DeploymentFacts | None) -> str:
    return "All deployments" if facts is None else words.clean(facts.title)


def _write(name: str, value: str | None) -> None:
    if value is None:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = value
