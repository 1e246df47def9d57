"""Builds the reports that are due and tells their receivers.

A report is built once a schedule and period, whoever builds it: what a second worker built at the
same moment is thrown away, and nobody is told twice.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy.engine import Engine

from alerts.report_message import ReadyReport, report_message
from monitor.calendar import local_day, local_month, local_week
from monitor.documents.build import Question, build_document
from monitor.documents.parts import Document, Voice
from monitor.documents.signed import write_report
from monitor.errors import InferwatchError
from monitor.evidence.signing import SigningKey
from monitor.store.engine import Role, transaction
from monitor.store.outbox import owe
from monitor.store.report_book import Schedule, keep_built, note_delivery, schedules, set_next
from monitor.windows import Window

log = logging.getLogger("inferwatch.jobs")

Signer = Callable[[], SigningKey]
PERIODS = {"day": local_day, "week": local_week, "month": local_month}
SETTLED_AFTER = timedelta(hours=6)
"""Windows of the last day are closed, profiled and judged by then."""


def next_due(every: str, zone: str, after: datetime) -> datetime:
    """When the report of the period that holds `after` can be built."""
    return PERIODS[every](after, zone).end + SETTLED_AFTER


def build_due_reports(
    engine: Engine, project_id: int, now: datetime, public_url: str, signer: Signer
) -> int:
    """Build what is due; how many reports were kept. One that can't be built is logged and skipped
    until the next tick.
    """
    with transaction(engine, project_id, Role.WORKER) as connection:
        due = schedules(connection, project_id, due_by=now)
    kept = 0
    for each in due:
        try:
            kept += _build(engine, project_id, each, now, public_url, signer)
        except InferwatchError as error:
            log.error("report not built schedule=%d reason=%s", each.id, error)
    return kept


def _build(
    engine: Engine, project_id: int, one: Schedule, now: datetime, public_url: str, signer: Signer
) -> bool:
    period = PERIODS[one.every](one.next_at - SETTLED_AFTER - timedelta(seconds=1), one.zone)
    question = Question(project_id, one.model, period, now)
    document = build_document(engine, question)
    body = write_report(engine, question, document, one.form, signer)
    digest = hashlib.sha256(body).hexdigest()
    with transaction(engine, project_id, Role.WORKER) as connection:
        number = keep_built(
            connection, project_id,
            {
                "model_id": one.model_id, "schedule_id": one.id, "period_start": period.start,
                "period_end": period.end, "as_known_at": now, "form": one.form,
                "sha256": digest, "body": body,
            },
        )  # fmt: skip
        set_next(connection, project_id, one.id, next_due(one.every, one.zone, period.end))
        if number is None:
            return False
        if one.receiver is not None:
            ready = _ready(number, one, period, document, digest)
            key = f"msg_{hashlib.sha256(f'report/{project_id}/{number}'.encode()).hexdigest()[:40]}"
            url = f"{public_url}/reports?model={one.model}"
            owe(connection, project_id, key, report_message(one.receiver, ready, url, now), (), now)
            note_delivery(connection, project_id, number, key)
    return True


def _ready(
    number: int, one: Schedule, period: Window, document: Document, digest: str
) -> ReadyReport:
    attention = [
        f"{section.title}: {each.text}"
        for section in document.sections
        for each in section.sentences
        if each.voice is not Voice.TOLD
    ]
    return ReadyReport(
        number, document.cover.project, one.model, period.start, period.end,
        document.cover.as_known_at, one.form, digest, attention,
    )  # fmt: skip
