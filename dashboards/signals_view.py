"""User impact and human review: cards of the model's page."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame
from dashboards.pick import choose
from monitor.reports.measurements import Filter
from monitor.reports.model import Mark
from monitor.reports.models import ModelFacts
from monitor.reports.reviews import Number, ReviewFacts, SignalResult, reviews
from monitor.reports.signals import SignalSeries, YoungDay, signals
from monitor.windows import Window

REVIEWS_SHOWN = 20
YOUNG_SHOWN = 31
METHOD_WORDS = {
    "event_rate": "share of requests",
    "mean_rating": "mean rating",
    "win_rate": "win rate, ties as half",
    "pass_rate": "pass rate",
}
AGREEMENT_WORDS = {
    "agreement": "same answer",
    "kappa": "Cohen's kappa",
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
}
BAD = {"higher_is_worse": "higher is worse", "lower_is_worse": "lower is worse"}


def draw_signals(
    frame: Frame, model: ModelFacts, window: Window, happened: tuple[Mark, ...]
) -> None:
    """Signals by day of the request, then what people found in samples."""
    st.header("User impact and human review")
    found = frame.ask(signals, model.id, window, Filter())
    made = frame.ask(reviews, model.id, frame.known_by)
    if not found and not made:
        kit.empty(
            "No signal was measured in these days, and nothing was reviewed",
            "Declare signals in the contract (accepted, overridden, appealed, a rating) and send"
            " them like labels; let people rate a sample of requests with inferwatch review draw.",
        )
        return
    if found:
        _draw_signal(frame, _chosen(found), happened)
    if made:
        _draw_reviews(frame, made)


def _chosen(found: tuple[SignalSeries, ...]) -> SignalSeries:
    return choose("Signal", found, "signal", told=lambda one: words.clean(one.name),
                  written=lambda one: one.name)  # fmt: skip


def _draw_signal(frame: Frame, one: SignalSeries, happened: tuple[Mark, ...]) -> None:
    method = METHOD_WORDS.get(one.newest.method, one.newest.method)
    remedy = "It needs 50 requests a day that can be judged."
    if not kit.series_state(one.series, one.name, remedy):
        return
    rows = charts.line_frame(one.series.shown, frame.zone, "deployments")
    title = f"{words.clean(one.name)}: {method}"
    chart = charts.lines(rows, title, unit=one.unit, marks=happened, zone=frame.zone)
    newest = rows.iloc[-1]
    description = (
        f"{words.clean(one.name)} ({method}, {BAD.get(one.direction, one.direction)}) by day of"
        f" the request; newest {newest['when']}: {newest['text']}."
    )
    st.caption(words.escape(description))
    told = {"when": "day", "series": "deployments", "text": "value"}
    charts.draw(chart, description, rows[list(told)].rename(columns=told), "signals")
    if one.young:
        _draw_young(frame, one)


def _draw_young(frame: Frame, one: SignalSeries) -> None:
    """Days whose silence does not say "no" yet, against final days at the same age."""
    st.caption(
        "Young days: what happened so far, against days that are final, by the same age. Never"
        " compare a young day's number with a final one's."
    )
    shown = one.young[:YOUNG_SHOWN]
    names = ["day", "state", "age", "so far", "final days by that age", "difference", "heads for"]
    lines = [_young_line(frame, day) for day in shown]
    kit.table(pd.DataFrame(lines, columns=names), f"Young days of {words.clean(one.name)}")


def _young_line(frame: Frame, day: YoungDay) -> tuple[str, ...]:
    return (
        words.span(day.window.start, day.window.end, frame.zone),
        day.maturity.replace("_", " "),
        f"{day.hours:.3g} h" if day.hours < 48 else f"{day.hours / 24:.3g} d",
        f"{words.number(day.share, 'share')} of {words.whole(day.n)}",
        words.number(day.share_before, "share"),
        _span(day.difference),
        _span(day.expected),
    )


def _span(found: tuple[float, float, float] | None) -> str:
    if found is None:
        return "–"
    value, low, high = (words.number(each, "share") for each in found)
    return f"{value} ({low} to {high})"


def _draw_reviews(frame: Frame, made: tuple[ReviewFacts, ...]) -> None:
    st.markdown("**Human review**")
    shown = made[:REVIEWS_SHOWN]
    lines = [_review_line(frame, one, each) for one in shown for each in one.signals]
    if lines:
        names = ["review", "requests of", "signal", "estimate for all", "agreement", "ratings"]
        kit.table(pd.DataFrame(lines, columns=names), "What reviews say of all their requests")
        st.caption(
            "Estimates are weighted by how likely each request was drawn. Agreement is of requests"
            " that two people rated without seeing each other's answer."
        )
    for one in shown:
        for each in one.signals:
            if each.kappa_misleads:
                st.caption(
                    f"{words.code(one.name)}, {words.code(each.name)}: nearly all answers are the"
                    " same, so kappa and alpha are low though raters agree."
                )


def _review_line(frame: Frame, one: ReviewFacts, each: SignalResult) -> tuple[str, ...]:
    return (
        one.name,
        f"{words.span(one.window.start, one.window.end, frame.zone)}, {one.leg},"
        f" {words.whole(one.population)} answered",
        each.name,
        _number(each.estimate, each.unit),
        "; ".join(_agreed(kind, number) for kind, number in each.agreement.items()),
        f"{words.whole(one.given)} of {words.whole(one.asked)}",
    )


def _agreed(kind: str, number: Number) -> str:
    name = AGREEMENT_WORDS.get(kind, kind)
    return f"{name} {_number(number, 'share' if kind == 'agreement' else '')}"


def _number(one: Number, unit: str) -> str:
    if one.value is None:
        return one.reason or "–"
    value = words.number(one.value, unit)
    if one.low is None or one.high is None:
        return value
    low, high = words.number(one.low, unit), words.number(one.high, unit)
    return f"{value} ({low} to {high}), n {words.whole(one.n)}"
