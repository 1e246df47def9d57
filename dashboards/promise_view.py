"""The promise about a model's drift alarms, and its incidents: cards of the model's page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame, number_parameter
from monitor.reports.incidents import IncidentFacts, incidents
from monitor.reports.models import ModelFacts
from monitor.reports.promise import ColumnPromise, PromiseReport, promise
from monitor.reports.promise_state import BacktestFacts, backtest_sentences, history_sentence

ROWS_A_PAGE = 10
NAMES_SHOWN = 4
SCALES = {"1h": "an hour", "6h": "6 hours", "day": "a day", "168h": "a week"}
PROMISES: dict[str, tuple[str, str, kit.Colour]] = {
    "available": (":material/verified:", "promise available", "green"),
    "not_yet_verified": (":material/pending:", "available, not yet verified", "blue"),
    "not_available": (":material/gpp_maybe:", "promise not available", "orange"),
    "waiting_for_history": (":material/hourglass_empty:", "waiting for history", "gray"),
    "static_reference": (":material/description:", "not available: no times", "gray"),
}
INCIDENTS: dict[str, tuple[str, str, kit.Colour]] = {
    "open": (":material/local_fire_department:", "open", "red"),
    "closed": (":material/check_circle:", "closed", "gray"),
    "fault": (":material/build:", "fault", "orange"),
    "adopt": (":material/new_releases:", "new normal", "blue"),
    "false_alarm": (":material/notifications_off:", "false alarm", "violet"),
    "": (":material/help:", "no verdict yet", "gray"),
}


def asked(frame: Frame, model: ModelFacts) -> PromiseReport:
    """The promise as of this minute, so that the answer can be remembered."""
    return frame.ask(promise, model.id, frame.now.replace(second=0, microsecond=0))


def draw_promise(frame: Frame, model: ModelFacts) -> None:
    """State, sentence, what it does not hold for and the backtest; then the incidents."""
    st.header("The promise about drift alarms")
    found = asked(frame, model)
    with st.container(border=True):
        kit.badge(found.state.value, PROMISES)
        st.markdown("  \n".join(words.escape(line) for line in (found.sentence, *found.why)))
        if found.history.upper is not None:
            st.caption(words.escape(history_sentence(found.history)))
        _draw_withheld(found)
        _draw_undecided(found)
        if found.told_false:
            times = words.plural(found.told_false, "false alarm")
            st.caption(
                f":material/tune: {times} told; all levels are multiplied by"
                f" {words.escape(f'{found.governor:.2f}')}."
            )
        _draw_backtest(frame, model, found)
        _draw_columns(found)
    _draw_incidents(frame, model)


def shifts_in_words(one: ColumnPromise) -> str:
    """The smallest shift of the mean that the newest windows would have shown."""
    told = [
        f"{one.shifts[scale]:.2g} over {name}"
        for scale, name in SCALES.items()
        if scale in one.shifts
    ]
    if not told:
        return ""
    return (
        "Smallest shift of the mean that the newest windows would have shown with 90 % certainty,"
        f" in standard deviations: {', '.join(told)}."
    )


def _draw_withheld(found: PromiseReport) -> None:
    if not found.withheld:
        return
    count = f"{words.whole(len(found.withheld))} of {words.plural(len(found.columns), 'column')}"
    lines = [f"- {words.code(one.name)}: {words.escape(one.withheld)}" for one in found.withheld]
    st.markdown("\n".join([f":material/visibility_off: It does not hold for {count}:", "", *lines]))


def _draw_undecided(found: PromiseReport) -> None:
    if not found.undecided:
        return
    names = ", ".join(words.code(one.name) for one in found.undecided)
    st.markdown(
        f":material/person_alert: Waiting for a decision: {names}. Incidents that nobody has judged"
        " keep 3 or more of the last 8 weeks from being learned from."
    )


def _draw_backtest(frame: Frame, model: ModelFacts, found: PromiseReport) -> None:
    if found.backtest is None:
        if found.learned is not None:
            st.caption("No backtest was made yet. Make one with:")
            st.code(f"inferwatch backtest {model.name}", language=None, wrap_lines=True)
        return
    made: BacktestFacts = found.backtest
    st.markdown(" ".join(words.escape(text) for text in backtest_sentences(made)))
    for opened, columns in made.incidents:
        st.markdown(
            f"- {words.escape(words.moment(opened, frame.zone))}:"
            f" {', '.join(words.code(name) for name in columns)}"
        )
    st.caption(f"Tested {words.escape(words.moment(made.at, frame.zone))}.")


def _draw_columns(found: PromiseReport) -> None:
    if not found.columns:
        return
    rows = [
        (
            one.name,
            one.column_class,
            one.season.replace("_", " "),
            words.whole(one.weeks),
            words.whole(one.n),
            "–" if one.wobble_a_day is None else f"{one.wobble_a_day:.2g}",
            "no" if one.withheld else "yes",
            *(f"{one.shifts[s]:.2g}" if s in one.shifts else "–" for s in SCALES),
        )
        for one in found.columns
    ]
    names = ["column", "kind", "season", "weeks", "rows", "wobble a day", "promise",
             *(f"visible over {name}" for name in SCALES.values())]  # fmt: skip
    with st.expander(f"What was learned of {words.plural(len(rows), 'column')}"):
        kit.table(pd.DataFrame(rows, columns=names), "What was learned of each column")
        st.caption(
            "Visible: the smallest shift of the mean, in baseline standard deviations, that the"
            " newest window would have shown with 90 % certainty. Wobble: how far healthy days"
            " differ beyond chance, in PSI units a degree of freedom."
        )


def _draw_incidents(frame: Frame, model: ModelFacts) -> None:
    st.header("Drift incidents")
    page = frame.ask(
        incidents, model.id, True, number_parameter("incidents_page") or 1, ROWS_A_PAGE
    )
    if page.total == 0:
        kit.empty(
            "No drift incident so far",
            "All drift alarms of a model within 24 hours make one incident; the first will stand"
            " here. Before 4 healthy weeks were learned from, only deployments that differ from"
            " each other alarm.",
        )
        return
    for one in page.rows:
        _draw_incident(frame, one)
    if page.pages > 1:
        kit.pager(page, "incidents_page")


def _draw_incident(frame: Frame, one: IncidentFacts) -> None:
    with st.container(border=True):
        left, middle, right, link = st.columns([1.6, 3.2, 2.2, 0.9], vertical_alignment="center")
        with left, st.container(horizontal=True, gap="small"):
            kit.badge(one.state, INCIDENTS)
            kit.badge(one.judgement.verdict.value if one.judgement else "", INCIDENTS)
        opened = words.escape(words.moment(one.opened, frame.zone))
        until = words.escape(words.moment(one.until, frame.zone))
        middle.markdown(
            f"**Incident {one.id}, led by {words.code(one.leading)}**  \n"
            f"{opened} {'open until' if one.is_open else 'to'} {until}"
        )
        right.markdown(f"{_columns(one)}  \n{_deployments(one)}")
        with link:
            if one.alerts:
                frame.link("alert", "Open", alert=str(one.alerts[-1]))
            else:
                st.caption(f"no alert; `inferwatch incidents show {one.id}`")


def _columns(one: IncidentFacts) -> str:
    names = [words.code(part.name) for part in one.columns]
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{words.plural(len(names), 'column')}: {', '.join(names[:NAMES_SHOWN])}{more}"


def _deployments(one: IncidentFacts) -> str:
    if not one.deployments:
        return "no deployment stands apart"
    return "deployment " + ", ".join(words.code(name) for name in one.deployments)
