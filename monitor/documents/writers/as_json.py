"""A report as JSON after a published schema: every number with all its digits."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from monitor.documents.parts import Cell, Chart, Document, Section, Table
from monitor.documents.writers.written import exact, plain

SCHEMA = 1
ENDING, MEDIA_TYPE = "json", "application/json"


def write(document: Document) -> bytes:
    """UTF-8, keys in a fixed order."""
    text = json.dumps(told(document), ensure_ascii=False, indent=1, allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


def told(document: Document) -> dict[str, Any]:
    """The document as plain values."""
    cover = document.cover
    return {
        "schema": SCHEMA,
        "project": plain(cover.project),
        "model": cover.model,
        "owner": plain(cover.owner),
        "purpose": plain(cover.purpose),
        "risk_tier": cover.risk_tier,
        "from": exact(cover.period.start),
        "to": exact(cover.period.end),
        "time_zone": cover.zone,
        "as_known_at": exact(cover.as_known_at),
        "product_version": cover.product_version,
        "configuration_sha256": cover.configuration,
        "sections": [_section(each) for each in document.sections],
    }


def _section(one: Section) -> dict[str, Any]:
    return {
        "key": one.key,
        "title": one.title,
        "sentences": [{"voice": s.voice.value, "text": plain(s.text)} for s in one.sentences],
        "tables": [_table(each) for each in one.tables],
        "charts": [_chart(each) for each in one.charts],
    }


def _table(one: Table) -> dict[str, Any]:
    return {
        "key": one.key,
        "title": one.title,
        "columns": [{"key": c.key, "title": c.title, "kind": c.kind.value} for c in one.columns],
        "rows": [[_cell(cell) for cell in row] for row in one.rows],
        "empty": one.empty,
    }


def _chart(one: Chart) -> dict[str, Any]:
    return {
        "key": one.key,
        "title": one.title,
        "unit": one.unit,
        "says": plain(one.says),
        "lines": [
            {
                "name": plain(line.name),
                "points": [[exact(p.start), p.value, p.low, p.high] for p in line.points],
            }
            for line in one.lines
        ],
    }


def _cell(cell: Cell) -> Any:
    if isinstance(cell, datetime):
        return exact(cell)
    return plain(cell) if isinstance(cell, str) else cell
