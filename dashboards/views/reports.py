"""Reports: a document about one model and one period, for people who review it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dashboards import kit, words
from dashboards.as_of import choose_known_by
from dashboards.frame import Frame, begin
from dashboards.pick import pick_model
from dashboards.sidebar import chosen_range
from monitor.access import Right
from monitor.documents.build import Question, build_document
from monitor.documents.parts import Document, Voice
from monitor.documents.signed import write_report
from monitor.documents.writers.registry import FORMS, ZIP
from monitor.evidence.signing import SigningKey
from monitor.installation_key import signing_key
from monitor.reports.kept_reports import BuiltReport, kept_body, kept_reports
from monitor.reports.model import newest_moment
from monitor.reports.models import ModelFacts
from monitor.settings import Settings
from monitor.windows import Window

BUILT = "report_built"
MOST_KEPT = 12
FORM_WORDS = {
    "pdf": "PDF, for reading and signing",
    "html": "one HTML file",
    "json": "JSON, all digits",
    "csv": "CSV, a file a table",
    "zip": "a signed bundle of all, for inferwatch verify",
}


def draw_summary(document: Document) -> None:
    """What the report says first: what is bad and what is not known."""
    for voice, icon, title in (
        (Voice.BAD, ":material/error:", "Needs attention"),
        (Voice.MISSING, ":material/visibility_off:", "Not known"),
    ):
        told = [
            f"{section.title}: {sentence.text}"
            for section in document.sections
            for sentence in section.sentences
            if sentence.voice is voice
        ]
        if told:
            st.markdown(f"{icon} **{title}**")
            st.markdown("\n".join(f"- {words.escape(text)}" for text in told))


def draw_build(frame: Frame, model: ModelFacts, window: Window) -> None:
    """The choice of form, and the file."""
    form = st.selectbox("Form", list(FORM_WORDS), format_func=FORM_WORDS.__getitem__,
                        key="report_form", bind="query-params")  # fmt: skip
    question = Question(frame.project.id, model.name, window, frame.known_by or frame.now)
    key = (question.project_id, model.name, window, frame.known_by)
    if form == ZIP and not frame.may(Right.SEE_EVIDENCE):
        st.caption(":material/lock: A signed bundle is open to roles that see evidence.")
        return
    if st.button("Build the report", icon=":material/description:"):
        with st.spinner("Reading what was stored"):
            st.session_state[BUILT] = (key, frame.ask(_document, question))
    kept = st.session_state.get(BUILT)
    if kept is None or kept[0] != key:
        st.caption("It takes a few seconds a month; nothing is measured anew.")
        return
    document = kept[1]
    wanted = FORMS[form]
    st.download_button(
        f"Download as {form}", _written(frame, question, document, form), mime=wanted.media_type,
        file_name=f"{model.name}-{window.start:%Y%m%d}-{window.end:%Y%m%d}.{wanted.ending}",
        icon=":material/download:",
    )  # fmt: skip
    known = words.moment(document.cover.as_known_at, frame.zone, seconds=True)
    st.caption(f"As known at {words.escape(known)}. The same can be had by command:")
    first, last = window.start.isoformat(), window.end.isoformat()
    st.code(
        f"inferwatch report {model.name} --project '{words.clean(frame.project.name)}'"
        f" --from {first} --to {last} --as-of {document.cover.as_known_at.isoformat()}"
        f" --format {form}", language=None, wrap_lines=True,
    )  # fmt: skip
    draw_summary(document)


def draw_kept(frame: Frame, model: ModelFacts) -> None:
    """Reports that were built on a schedule."""
    st.header("Built on a schedule")
    found = frame.ask(kept_reports, model.id)
    if not found.schedules and not found.built:
        kit.empty(
            "No report of this model is built on a schedule", "Have one built each month.",
            f"inferwatch reports schedule {model.name} --every month --receiver NAME",
        )  # fmt: skip
        return
    rows = [
        (str(one.id), f"each {one.every}", one.form, words.clean(one.receiver or "nobody"),
         words.clean(one.created_by),
         "ended" if one.ended_at else words.moment(one.next_at, frame.zone))
        for one in found.schedules
    ]  # fmt: skip
    names = ["schedule", "period", "form", "told to", "by", "next at"]
    kit.table(pd.DataFrame(rows, columns=names), f"{len(rows)} schedules")
    for one in found.built[:MOST_KEPT]:
        with st.container(horizontal=True, vertical_alignment="center"):
            told = words.span(one.period.start, one.period.end, frame.zone)
            st.markdown(
                f"Report {one.id}: {words.escape(told)}, SHA\\-256 {words.code(one.sha256)}"
            )
            if st.button("Fetch", key=f"fetch:{one.id}"):
                _offer(frame, model, one)


def _offer(frame: Frame, model: ModelFacts, one: BuiltReport) -> None:
    _, body = frame.ask(kept_body, one.id)
    wanted = FORMS[one.form]
    st.download_button(
        f"Download report {one.id}", body, mime=wanted.media_type,
        file_name=f"{model.name}-report-{one.id}.{wanted.ending}",
    )  # fmt: skip


def _written(frame: Frame, question: Question, document: Document, form: str) -> bytes:
    if form != ZIP:
        return FORMS[form].write(document)
    asked = replace(question, known_by=document.cover.as_known_at)
    return frame.ask(_bundle, asked, document)


def _bundle(engine: Any, _: int, question: Question, document: Document) -> bytes:
    return write_report(engine, question, document, ZIP, _own_key)


def _own_key() -> SigningKey:
    return signing_key(Settings.from_environment())


def _document(engine: Any, _: int, question: Question) -> Document:
    return build_document(engine, question)


def render() -> None:
    """Draw the page."""
    frame = begin("Reports")
    model = pick_model(frame)
    window = chosen_range(frame, frame.ask(newest_moment, model.id), f"reports:{model.id}")
    choose_known_by(frame)
    if model.version is None:
        kit.empty("This model has no contract", "A report is about what a contract declares.")
        return
    draw_build(frame, model, window)
    draw_kept(frame, model)


render()
