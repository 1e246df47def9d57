"""Whether Inferwatch itself works: the last part of the overview."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame, number_parameter, parameter
from monitor.reports.health import (
    Health,
    JobRunFilter,
    health,
    job_runs,
)

RUN_STATES = ("any state", "failed", "running", "due", "done")


def draw_health(frame: Frame) -> None:
    """Intake, jobs, workers and the outbox, and the list of job windows."""
    st.header("System health")
    found = frame.ask(health, frame.now.replace(second=0, microsecond=0))
    columns = [*st.columns(2), *st.columns(2)]
    with columns[0], st.container(border=True):
        _intake(frame, found)
    with columns[1], st.container(border=True):
        _jobs(found)
    with columns[2], st.container(border=True):
        _workers(frame, found)
    with columns[3], st.container(border=True):
        _outbox(frame, found)
    with st.expander("Job windows, one by one", expanded=parameter("runs_page") is not None):
        _runs(frame)


def _intake(frame: Frame, found: Health) -> None:
    intake = found.intake
    st.metric("Collector, newest batch", words.ago(intake.last_requests, frame.now))
    st.caption(
        f"24 hours: {words.whole(intake.accepted)} accepted, {words.whole(intake.duplicate)}"
        f" duplicate, {words.whole(intake.conflict)} conflict, {words.whole(intake.rejected)}"
        f" rejected, {words.whole(intake.violations)} violations. Newest labels"
        f" {words.ago(intake.last_labels, frame.now)}."
    )
    for reason, count in intake.rejections[:3]:
        st.caption(f"Rejected as {words.code(reason)}: {words.whole(count)}")


def _jobs(found: Health) -> None:
    failed = sum(job.failed for job in found.jobs)
    lost = sum(job.overdue for job in found.jobs)
    done = sum(job.done for job in found.jobs)
    st.metric("Jobs failed or lost", words.whole(failed + lost))
    if not found.jobs:
        st.caption("No job ever ran. Start the worker: inferwatch worker")
        return
    waiting = sum(job.due + job.running for job in found.jobs)
    st.caption(
        f"{words.whole(done)} windows done in 24 hours, {words.whole(waiting)} due or running."
    )
    for job in found.jobs:
        if job.failed or job.overdue:
            st.caption(
                f":material/error: {words.code(job.job)}: {words.whole(job.failed)} failed,"
                f" {words.whole(job.overdue)} lost by their worker"
            )


def _workers(frame: Frame, found: Health) -> None:
    alive = [worker for worker in found.workers if not worker.is_late]
    st.metric("Workers alive", words.whole(len(alive)))
    if not found.workers:
        st.caption("No worker was seen in the last day. Start one: inferwatch worker")
    for worker in found.workers[:6]:
        icon = ":material/error:" if worker.is_late else ":material/check:"
        seen = words.ago(worker.beat_at, frame.now)
        st.caption(f"{icon} {words.escape(worker.role)} {words.code(worker.name)}, seen {seen}")


def _outbox(frame: Frame, found: Health) -> None:
    outbox = found.outbox
    st.metric("Messages waiting", words.whole(outbox.waiting))
    st.caption(
        f"{words.whole(outbox.late)} late, {words.whole(outbox.dead)} given up in 7 days."
        f" Newest sent {words.ago(outbox.last_sent, frame.now)}."
    )
    if outbox.late and outbox.oldest_due is not None:
        since = words.escape(words.moment(outbox.oldest_due, frame.zone))
        st.caption(f":material/error: The oldest is due since {since}.")
    if outbox.dead:
        st.caption(":material/error: Read the attempts at the alert and mend the receiver.")


def _runs(frame: Frame) -> None:
    state = st.selectbox("State", RUN_STATES, key="run_state", bind="query-params")
    wanted = JobRunFilter(states=() if state == RUN_STATES[0] else (state,))
    page = frame.ask(job_runs, wanted, number_parameter("runs_page") or 1)
    if page.total == 0:
        kit.empty("No such job window", "Choose another state, or start the worker.")
        return
    rows = [
        (
            run.model,
            run.job,
            words.moment(run.window_start, frame.zone),
            run.state,
            words.whole(run.runs),
            words.whole(run.rows_read),
            words.moment(run.finished_at, frame.zone, seconds=True),
            words.clean(run.error or ""),
        )
        for run in page.rows
    ]
    names = ["model", "job", "window from", "state", "runs", "rows read", "finished", "error"]
    kit.table(pd.DataFrame(rows, columns=names), f"{words.whole(page.total)} job windows")
    kit.pager(page, "runs_page")
