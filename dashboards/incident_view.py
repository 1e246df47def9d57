"""The drift incident that an alert tells of: its columns, what moved, and what else was seen."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboards import kit, words
from dashboards.frame import Frame
from dashboards.promise_view import INCIDENTS
from monitor.reports.alerts import Finding
from monitor.reports.incidents import ColumnPart, IncidentFacts, column_of, incident_of_alert
from monitor.reports.models import model_facts

LINKED = 6


def incident_behind(frame: Frame, found: Finding) -> IncidentFacts | None:
    """The incident that an alert tells of; None for other alerts."""
    return frame.ask(incident_of_alert, tuple(sorted(found.labels.items())))


def draw_incident(frame: Frame, one: IncidentFacts) -> None:
    """Everything known of the incident."""
    st.header(f"Drift incident {one.id}")
    with st.container(horizontal=True, vertical_alignment="center"):
        kit.badge(one.state, INCIDENTS)
        kit.badge(one.judgement.verdict.value if one.judgement else "", INCIDENTS)
    opened, last, until = (
        words.escape(words.moment(at, frame.zone)) for at in (one.opened, one.last, one.until)
    )
    end = f"open until {until} if nothing more fires" if one.is_open else f"it ended {until}"
    st.markdown(f"Opened {opened}, last firing {last}; {end}.")
    _draw_judgement(frame, one)
    _draw_context(frame, one)
    _draw_moved(one)


def draw_columns(frame: Frame, one: IncidentFacts) -> None:
    """The columns with their strongest windows; wide, so it stands below everything else."""
    st.header("Columns of the incident")
    rows = [_row(frame, part) for part in one.columns]
    names = ["column", "strongest window", "effect (PSI)", "p-value", "level", "rows", "first",
             "last", "firings", "deployments", "segments"]  # fmt: skip
    kit.table(pd.DataFrame(rows, columns=names), "Columns of the incident, the strongest first")
    known = [column.name for column in frame.ask(model_facts, one.model).columns]
    with st.container(horizontal=True):
        for part in one.columns[:LINKED]:
            column = column_of(part.name, known)
            if column is not None:
                frame.link("column", part.name, model=one.model, column=column)


def _draw_judgement(frame: Frame, one: IncidentFacts) -> None:
    judged = one.judgement
    if judged is None:
        st.caption(
            "Nobody has said yet what it was. Until then its weeks are not learned from, and it"
            " counts against the promise."
        )
        return
    at = words.escape(words.moment(judged.at, frame.zone))
    st.markdown(f"Judged as {judged.words} by {words.code(judged.by)}, {at}.")
    if judged.comment:
        st.text(kit.clean_lines(judged.comment))


def _draw_context(frame: Frame, one: IncidentFacts) -> None:
    st.markdown("**What else was seen**")
    if not one.sentences:
        st.caption("Nothing else is known about that time.")
        return
    with st.container(border=True):
        st.markdown("\n".join(f"- {words.escape(text)}" for text in one.sentences))
    known = words.escape(words.moment(one.known_at, frame.zone)) if one.known_at else "that time"
    st.caption(f"As known at {known}. Consistent with is not caused by.")


def _draw_moved(one: IncidentFacts) -> None:
    rows = [
        (column.name, cell.label, words.number(cell.expected, "share"),
         words.number(cell.seen, "share"), words.whole(column.n),
         words.number(column.distance_sd))
        for column in one.moved
        for cell in column.cells
    ]  # fmt: skip
    if not rows:
        return
    st.markdown("**Cells that moved most**")
    names = ["column", "cell", "expected", "seen", "rows", "distance in standard deviations"]
    kit.table(pd.DataFrame(rows, columns=names), "Cells that moved most, expected against seen")


def _row(frame: Frame, part: ColumnPart) -> tuple[str, ...]:
    strongest = part.strongest
    where = f" of {strongest.segment}" if strongest.segment else ""
    ended = words.moment(strongest.end, frame.zone)
    return (
        part.name,
        f"{strongest.view}, {strongest.hours} h to {ended}{where}",
        words.number(strongest.effect),
        f"{strongest.p_value:.2g}",
        f"{strongest.level:.2g}",
        words.whole(strongest.n),
        words.moment(part.first, frame.zone),
        words.moment(part.last, frame.zone),
        words.whole(part.firings),
        ", ".join(part.deployments) or "–",
        ", ".join(part.segments) or "–",
    )
