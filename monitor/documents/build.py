"""Puts a report together. The same question gives the same document, whenever it is asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version

from sqlalchemy.engine import Engine

from monitor.documents.coverage import coverage_section
from monitor.documents.material import Material
from monitor.documents.parts import Cover, Document
from monitor.documents.registry import SECTIONS
from monitor.reports.database import reading
from monitor.windows import Window


@dataclass(frozen=True)
class Question:
    """What a report is asked about: one model, one period, as known at a moment."""

    project_id: int
    model: str
    period: Window
    known_by: datetime


def build_document(
    engine: Engine, question: Question, step: Callable[[str], None] = lambda _: None
) -> Document:
    """The document; `step` is told the title of each section when it is done.

    Raises UnknownSubject when the model or its contract was not there at that moment.
    """
    with reading(engine, question.project_id) as connection:
        material = Material(
            engine, connection, question.project_id, question.model, question.period,
            question.known_by,
        )  # fmt: skip
        sections = []
        for make in SECTIONS:
            sections.append(make(material))
            step(sections[-1].title)
        cover = _cover(material)
    titles = {each.key: each.title for each in sections}
    return Document(cover, (*sections, coverage_section(titles)))


def _cover(material: Material) -> Cover:
    return Cover(
        material.project, material.name, str(material.model.owner), str(material.model.purpose),
        str(material.model.risk_tier), material.period, material.zone, material.known_by,
        version("inferwatch"), _configuration(material),
    )  # fmt: skip


def _configuration(material: Material) -> str:
    rules = material.rules_at(material.period.end)
    told = {
        "contract": material.contract.body,
        "rules": rules.source if rules else None,
    }
    text = json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
