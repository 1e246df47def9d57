"""A report as evidence: all its forms, the measurements behind it and the audit chain, signed."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.engine import Engine

from monitor.documents.build import Question
from monitor.documents.parts import Document
from monitor.documents.writers import as_zip
from monitor.documents.writers.registry import FORMS, ZIP
from monitor.evidence.signing import SigningKey
from monitor.reports.bundle import BundleSubject, build_bundle


def write_report(
    engine: Engine,
    question: Question,
    document: Document,
    form: str,
    signer: Callable[[], SigningKey],
) -> bytes:
    """The report in one form; a zip is a bundle that `inferwatch verify` checks offline."""
    if form != ZIP:
        return FORMS[form].write(document)
    subject = BundleSubject(question.project_id, question.model, question.period, question.known_by)
    return build_bundle(as_zip.parts(document), engine=engine, subject=subject, signer=signer())
