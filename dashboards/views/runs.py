"""Runs: what was planned, what ran, what failed and why, what had too few rows."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame, begin
from dashboards.pick import pick_model
from dashboards.sidebar import chosen_range
from monitor.reports.model import newest_moment
from monitor.reports.runs import LATE_AFTER, RunLedger, run_ledger


def draw_news(frame: Frame, ledger: RunLedger) -> None:
    """Bad news first: failed, late and missing runs, each with a word and what to do."""
    missing = ledger.missing
    with st.container(horizontal=True):
        kit.count_badge(ledger.failed, "failed run", ":material/error:", "red")
        kit.count_badge(ledger.late, "late run", ":material/schedule:", "orange")
        kit.count_badge(missing.windows, "missing run", ":material/event_busy:", "orange")
    if missing.windows:
        kit.failed(
            f"{words.plural(missing.windows, 'window')} with requests that no run has taken up",
            f"The oldest began {words.moment(missing.oldest, frame.zone)}. A window is due once it"
            " has ended and the contract's lateness has passed; see that a worker runs:"
            " inferwatch doctor",
        )
    if ledger.late:
        kit.failed(
            f"{words.plural(ledger.late, 'run')} late by more than"
            f" {words.length(LATE_AFTER.total_seconds())}",
            "They wait, or their worker died. See that a worker runs: inferwatch doctor",
        )


def draw_jobs(frame: Frame, ledger: RunLedger) -> None:
    """One line a job."""
    st.header("Jobs")
    if not ledger.jobs:
        kit.empty(
            "No job ran for these days",
            "Choose other days, or start a worker; a window is planned once requests came in.",
            "inferwatch up",
        )
        return
    rows = [
        (
            line.job, line.planned, line.done, line.failed, line.waiting, line.running, line.late,
            words.moment(line.last_finished, frame.zone),
        )
        for line in ledger.jobs
    ]  # fmt: skip
    names = ["job", "planned", "ran", "failed", "waiting", "running", "late", "last finished"]
    told = "; ".join(f"{row[0]}: {row[1]} planned, {row[2]} ran, {row[3]} failed" for row in rows)
    kit.table(pd.DataFrame(rows, columns=names), f"Runs by job. {told}", numbers=names[1:7])


def draw_failures(frame: Frame, ledger: RunLedger) -> None:
    """The newest runs that failed, with their reasons."""
    st.header("What failed")
    if not ledger.failures:
        st.markdown(":material/check_circle: No run of these days stands as failed.")
        return
    rows = [
        (
            line.job, words.moment(line.window_start, frame.zone), line.state,
            words.whole(line.failures), words.clean(line.error),
        )
        for line in ledger.failures
    ]  # fmt: skip
    names = ["job", "window began", "state", "tries that failed", "reason"]
    kit.table(pd.DataFrame(rows, columns=names), "Runs that failed, the newest first")


def draw_checks(ledger: RunLedger) -> None:
    """How the planned answers of each check ended; nothing is left out in silence."""
    st.header("What the checks answered")
    if not ledger.checks:
        kit.empty(
            "No check answered for these days",
            "Checks follow the profile of a window; see above whether it ran.",
        )
        return
    rows = [
        (
            line.check.replace("_", " "), line.planned, line.measured, line.too_few, line.failed,
            words.clean(line.too_few_reason or "–"), words.clean(line.failed_reason or "–"),
        )
        for line in ledger.checks
    ]  # fmt: skip
    names = ["check", "planned", "measured", "too few", "failed", "a reason for too few",
             "a reason for failed"]  # fmt: skip
    told = "; ".join(f"{row[0]}: {row[2]} measured, {row[3]} too few, {row[4]} failed"
                     for row in rows)  # fmt: skip
    kit.table(pd.DataFrame(rows, columns=names), f"Answers by check. {told}", numbers=names[1:5])
    st.caption("Revisions are counted too. Every planned answer ends as one of the three.")


def render() -> None:
    """Draw the page."""
    frame = begin("Runs")
    model = pick_model(frame)
    window = chosen_range(frame, frame.ask(newest_moment, model.id), f"runs:{model.id}")
    minute = frame.now.replace(second=0, microsecond=0)  # kept answers are asked for by it
    ledger = frame.ask(run_ledger, model.id, window, minute)
    draw_news(frame, ledger)
    draw_jobs(frame, ledger)
    draw_failures(frame, ledger)
    draw_checks(ledger)
    frame.link("model", f"All of {model.name}", model=model.name)


render()
