"""Operation on the serving page: how requests ended, why not, and how long they took."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboards import charts, kit, words
from dashboards.frame import Frame
from monitor.measurement import Measured, Outcome, TooFew
from monitor.records import RequestOutcome
from monitor.reports.operation import Bucket, OperationReport, TimeRow

# One colour and one word an outcome; answers have no bar, as they would hide the rest.
BAD_OUTCOMES: dict[RequestOutcome, tuple[str, str]] = {
    RequestOutcome.FAILED: ("failed", "#d64545"),
    RequestOutcome.TIMED_OUT: ("timed out", "#d9822b"),
    RequestOutcome.CANCELLED: ("cancelled", "#8a94a0"),
    RequestOutcome.REFUSED: ("refused", "#a45ec4"),
    RequestOutcome.FELL_BACK: ("fell back", "#8a8f2f"),
    RequestOutcome.ABSTAINED: ("abstained", "#3b82c4"),
}
RATE_WORDS = {
    "request_rate": "Request rate",
    "answered_share": "Answered",
    "failed_share": "Failed",
    "timed_out_share": "Timed out",
    "cancelled_share": "Cancelled",
    "refused_share": "Refused",
    "abstention_rate": "Abstained",
    "fell_back_share": "Fell back",
    "cached_share": "From cache",
    "retry_share": "Retried",
    "cold_start_share": "Cold starts",
    "goodput": "Good answers",
    "objective_missed": "Objective missed",
}
UNITS = {"request_rate": "per_second", "goodput": "per_second"}
CARDS = ("answered_share", "failed_share", "timed_out_share", "retry_share", "objective_missed")


def draw_outcomes(frame: Frame, report: OperationReport) -> None:
    """Rates with their limits, what did not end well over time, and the reasons given."""
    st.header("How requests ended")
    with st.container(horizontal=True):
        st.metric("Requests in these days", words.whole(report.n), width=190)
        for method in CARDS:
            outcome = report.rates.get(method)
            if isinstance(outcome, Measured):
                told = words.number(outcome.value, UNITS.get(method, "share"))
                st.metric(RATE_WORDS[method], told, width=170)
    rows = [(name, *_told(report.rates[method], method)) for method, name in RATE_WORDS.items()
            if method in report.rates]  # fmt: skip
    table = pd.DataFrame(rows, columns=["what", "value", "interval", "requests"])
    kit.table(table, "Rates of these days with their intervals")
    if report.objective:
        st.caption(f"Good: {words.escape(report.objective)}.")
    _draw_bars(frame, report)
    _draw_reasons(report)


def _told(outcome: Outcome, method: str) -> tuple[str, str, str]:
    if isinstance(outcome, Measured):
        unit = UNITS.get(method, "share")
        limits = words.interval(outcome.low, outcome.high, outcome.level, unit)
        return words.number(outcome.value, unit), limits, words.whole(outcome.n)
    if isinstance(outcome, TooFew):
        return f"too few: {words.clean(outcome.reason)}", "", words.whole(outcome.n)
    return f"failed: {words.clean(outcome.reason)}", "", ""


def _draw_bars(frame: Frame, report: OperationReport) -> None:
    shown = _bars(frame, report.buckets)
    total = sum(n for each in report.buckets for n in each.counts.values())
    bad = int(shown["n"].sum()) if len(shown) else 0
    if not bad:
        st.caption(f"None of {words.whole(total)} requests failed, was refused or fell back.")
        return
    names = [name for name, _ in BAD_OUTCOMES.values() if name in set(shown["outcome"])]
    colours = [colour for name, colour in BAD_OUTCOMES.values() if name in names]
    unit = "utcyearmonthdatehours" if report.bucket == "hour" else "utcyearmonthdate"
    chart = (
        alt.Chart(shown)
        .mark_bar()
        .encode(
            x=alt.X(f"{unit}(at):T", title=None, scale=alt.Scale(type="utc"),
                    axis=charts.day_axis()),
            y=alt.Y("share:Q", title=f"share of requests a {report.bucket}",
                    axis=alt.Axis(format=".1%")),
            color=alt.Color("outcome:N", scale=alt.Scale(domain=names, range=colours),
                            legend=alt.Legend(orient="bottom", title=None)),
            tooltip=[alt.Tooltip("when:N", title=report.bucket), alt.Tooltip("outcome:N"),
                     alt.Tooltip("text:N", title="requests")],
        )
        .properties(height=charts.HEIGHT)
    )  # fmt: skip
    described = (
        f"Share of requests a {report.bucket} that did not end as an answer, by outcome:"
        f" {words.whole(bad)} of {words.whole(total)} in all."
    )
    charts.draw(chart, described, shown[["when", "outcome", "text"]], "outcomes")


def _bars(frame: Frame, buckets: tuple[Bucket, ...]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for each in buckets:
        total = sum(each.counts.values())
        for outcome, (name, _) in BAD_OUTCOMES.items():
            n = each.counts.get(outcome, 0)
            if n:
                rows.append({
                    "at": each.at, "outcome": name, "n": n, "share": n / total,
                    "when": words.moment(each.at, frame.zone),
                    "text": f"{words.whole(n)} of {words.whole(total)}",
                })  # fmt: skip
    found = pd.DataFrame(rows, columns=["at", "outcome", "n", "share", "when", "text"])
    return found.assign(at=charts.wall_clock(found["at"], frame.zone))


def _draw_reasons(report: OperationReport) -> None:
    if not report.reasons:
        return
    rows = [
        (words.clean(outcome.name.lower().replace("_", " ")), words.clean(text), words.whole(n))
        for outcome, text, n in report.reasons
    ]
    kinds = words.plural(len(rows), "kind")
    with st.expander(f"Reasons given: {kinds}, the most frequent first"):
        kit.table(pd.DataFrame(rows, columns=["outcome", "reason", "requests"]), "Reasons")


def draw_times(report: OperationReport) -> None:
    """Percentiles of every timing; cold, warm and cached requests apart."""
    st.header("How long it took")
    if not report.times:
        kit.empty(
            "The contract declares no timing",
            "Give such a column the role timing; then its percentiles are measured.",
        )
        return
    table = pd.DataFrame([_time_row(each) for each in report.times])
    kit.table(table, "Percentiles of timings, of all requests and of some")
    st.caption(
        "Percentiles of the merged counts of all these days, never averages of percentiles; each"
        " within 1/129 of itself. Without: requests that tell no such time."
    )


def _time_row(each: TimeRow) -> dict[str, str]:
    told = {}
    for name in ("p50", "p95", "p99"):
        outcome = each.percentiles[name]
        if isinstance(outcome, Measured):
            limits = (outcome.low, outcome.high)
            told[name] = words.number(outcome.value, each.unit)
            if None not in limits:
                low, high = (words.number(limit) for limit in limits)
                told[name] += f" ({low} to {high})"
        else:
            told[name] = "too few"
    return {
        "timing": words.clean(each.column), "of": words.clean(each.of) or "all requests", **told,
        "requests": words.whole(each.n), "without": words.whole(each.missing),
    }  # fmt: skip
