"""Labels of one model: how soon they come, which days are mature, what waits, what was revised."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboards import charts, delay_chart, kit, words
from dashboards.as_of import choose_known_by
from dashboards.delay_chart import age_in_words
from dashboards.frame import Frame, begin
from dashboards.pick import choose, pick_model
from dashboards.sidebar import chosen_range
from monitor.reports.label_revisions import Revised, revised_methods, revisions
from monitor.reports.labels import (
    CohortFacts,
    CurveFacts,
    LabelReport,
    label_report,
)
from monitor.reports.model import newest_moment
from monitor.reports.models import ModelFacts
from monitor.windows import Window

STATES: dict[str, tuple[str, str, kit.Colour]] = {
    "too_early": (":material/hourglass_top:", "too early", "gray"),
    "partial": (":material/hourglass_bottom:", "partial", "gray"),
    "provisional": (":material/pending:", "provisional", "blue"),
    "final": (":material/check_circle:", "final", "green"),
    "": (":material/help:", "not told", "gray"),
}
FEEDBACK = {
    "full": "every request gets one",
    "positive_only": "only positives are told; silence becomes a negative",
    "selective": "only some requests ever get one, so quality of all is known within bounds",
}
CURVES_SHOWN = 5
REVISION_ROWS = 60
FIRST_METHODS = ("accuracy", "auc", "mae", "ndcg_10", "label_coverage")


def draw_head(frame: Frame, found: LabelReport) -> None:
    """What the label is, and how fresh its feed."""
    spans = [span.total_seconds() / 3600 for span in (found.max_age, found.correction_time) if span]
    taken = ", corrections ".join(age_in_words(hours) for hours in spans)
    st.caption(
        f"Label {words.code(found.name or '')} · {words.escape(FEEDBACK[found.feedback])} ·"
        f" may take {words.escape(taken)} more"
    )
    day = found.feed[0] if found.feed else None
    with st.container(horizontal=True):
        st.metric("Newest label", words.moment(found.newest_label, frame.zone), width="content")
        quiet = None if day is None else day.silence_hours
        st.metric("Silence of the feed", "–" if quiet is None else age_in_words(quiet), width=190)
        ratio = None if day is None else day.ratio
        told = "–" if ratio is None else words.number(ratio, "share")
        st.metric("Of the labels expected that day", told, width=230)
        waiting = sum(one.n for one in found.orphans)
        st.metric("Labels that wait", words.whole(waiting), width=170)
    if day is not None and day.low is not None and day.high is not None:
        st.caption(
            words.escape(
                f"{words.whole(day.observed)} labels observed on"
                f" {words.span(day.window.start, day.window.end, frame.zone)} where"
                f" {words.number(day.expected)} were expected;"
                f" {words.interval(day.low, day.high, 0.95, 'share')} of them."
            )
        )


def draw_curves(frame: Frame, found: LabelReport) -> None:
    """The delay curve with limits, and its figures."""
    st.header("How soon labels come")
    if not found.curves:
        kit.empty(
            "No delay curve yet",
            "It is learned once a day, from the first labels on, by the jobs.",
            "inferwatch run",
        )
        return
    shown = found.curves[:CURVES_SHOWN]
    points = delay_chart.curve_frame(shown)
    if found.max_age is not None and found.correction_time is not None:  # flat from there on
        longest = (found.max_age + found.correction_time) / timedelta(days=1)
        points = points[points["days"] <= longest]
    whole = shown[0]
    description = (
        f"Share of requests that have a label by their age, of {whole.title}: half by"
        f" {age_in_words(whole.median_hours)}, {words.number(whole.plateau, 'share')} in the end."
    )
    table = points[["series", "age", "text"]].rename(
        columns={"series": "delays of", "text": "have a label"}
    )
    charts.draw(delay_chart.delay_curves(points), description, table, "delay_curve")
    rows = [_curve_row(frame, one) for one in found.curves]
    names = ["delays of", "requests", "half by", "90 % of labels by", "ever labelled", "learned"]
    kit.table(pd.DataFrame(rows, columns=names), "Delay curves in figures")
    if not all(one.settled for one in found.curves):
        st.caption(
            ":material/hourglass_empty: So far: no request is as old as a label may be, so more may"
            " come than the last column says."
        )


def _curve_row(frame: Frame, one: CurveFacts) -> tuple[str, ...]:
    limits = words.interval(one.plateau_low, one.plateau_high, 0.95, "share")
    return (
        one.title,
        words.whole(one.n),
        age_in_words(one.median_hours),
        "–" if one.ninety_hours is None else age_in_words(one.ninety_hours),
        f"{words.number(one.plateau, 'share')}, {limits}{'' if one.settled else ', so far'}",
        words.moment(one.known_at, frame.zone),
    )


def draw_cohorts(frame: Frame, found: LabelReport) -> None:
    """Coverage of each day with its state: immature days are grey, and rules don't judge them."""
    st.header("Days by the time of the prediction")
    if not found.cohorts:
        kit.empty("No day was measured in these days", "Choose other days.")
        return
    counts = {state: sum(one.state == state for one in found.cohorts) for state in STATES}
    with st.container(horizontal=True):
        for state, count in counts.items():
            if count:
                icon, word, colour = STATES[state]
                st.badge(f"{words.plural(count, 'day')} {word}", icon=icon, color=colour)
    rows = pd.DataFrame(
        [_cohort_row(frame, one) for one in found.cohorts],
        columns=["day", "requests", "with label", "expected by now", "state", "rules judge",
                 "known at"],
    )  # fmt: skip
    chart = delay_chart.cohort_bars(found.cohorts, frame.zone)
    newest = found.cohorts[0]
    day = words.span(newest.window.start, newest.window.end, frame.zone)
    state = STATES.get(newest.state, STATES[""])[1]
    description = (
        f"Share of requests with a label by day; {day} has"
        f" {words.number(newest.coverage, 'share')} and is {state}."
    )
    charts.draw(chart, description, rows, "cohorts")
    st.caption(
        "Grey days are immature: too many of their labels are still to come, and no rule judges"
        " their quality."
    )


def _cohort_row(frame: Frame, one: CohortFacts) -> tuple[str, ...]:
    return (
        words.span(one.window.start, one.window.end, frame.zone),
        words.whole(one.n),
        words.measured(one.coverage, one.low, one.high, 0.95, one.n, "share"),
        words.number(one.expected_share, "share"),
        STATES.get(one.state, STATES[""])[1],
        "yes" if one.is_judged else "no",
        words.moment(one.known_at, frame.zone),
    )


def draw_orphans(frame: Frame, found: LabelReport) -> None:
    """Labels that found no request, by reason."""
    st.header("Labels that wait for their request")
    if not found.orphans:
        st.caption(":material/check: No label waits.")
        return
    rows = [
        (words.whole(one.n), one.words, words.moment(one.oldest_arrival, frame.zone))
        for one in found.orphans
    ]
    names = ["labels", "why", "oldest arrival"]
    kit.table(pd.DataFrame(rows, columns=names), "Labels that wait for their request now")


def draw_revisions(frame: Frame, model: ModelFacts, window: Window) -> None:
    """A measure of each day as it was first told and as it is known now."""
    st.header("Reported then, known now")
    methods = frame.ask(revised_methods, model.id, window)
    if not methods:
        kit.empty("No quality was measured in these days", "Wait for labels or choose other days.")
        return
    first = next((name for name in FIRST_METHODS if name in methods), methods[0])
    method = choose("Measure", methods, "revised", first=first, told=words.plain)
    found = frame.ask(revisions, model.id, window, method, frame.known_by)
    rows = [_revised_row(frame, one) for one in found[:REVISION_ROWS]]
    names = ["day", "reported then", "known at first", "known now", "known at", "change",
             "revisions"]  # fmt: skip
    kit.table(pd.DataFrame(rows, columns=names), f"Revisions of {method} by day")
    if len(found) > REVISION_ROWS:
        st.caption(f"The newest {REVISION_ROWS} of {words.plural(len(found), 'day')}.")


def _revised_row(frame: Frame, one: Revised) -> tuple[str, ...]:
    then, now = one.first, one.newest
    change = one.change
    return (
        words.span(one.window.start, one.window.end, frame.zone),
        then.reason
        or words.measured(then.value, then.low, then.high, then.level, then.n, then.unit),
        words.moment(then.known_at, frame.zone),
        now.reason or words.measured(now.value, now.low, now.high, now.level, now.n, now.unit),
        words.moment(now.known_at, frame.zone),
        "–" if change is None else _change_in_words(change, now.unit),
        words.whole(one.revisions),
    )


def _change_in_words(change: float, unit: str) -> str:
    """A change of a share in points, as per cent of it would be something else."""
    if unit == "share":
        return f"{change * 100:+.3g} points"
    return f"{'+' if change > 0 else ''}{words.number(change, unit)}"


def render() -> None:
    """Draw the page."""
    frame = begin("Labels")
    model = pick_model(frame)
    window = chosen_range(frame, frame.ask(newest_moment, model.id), f"labels:{model.id}")
    choose_known_by(frame)
    frame.link("model", f"All of {model.name}", model=model.name)
    found = frame.ask(label_report, model.id, window, frame.known_by)
    if found.name is None:
        kit.empty(
            "This model has no label",
            "Declare one in its contract: what turns out to be true, and how long that may take.",
        )
        return
    draw_head(frame, found)
    draw_curves(frame, found)
    draw_cohorts(frame, found)
    draw_revisions(frame, model, window)
    draw_orphans(frame, found)


render()
