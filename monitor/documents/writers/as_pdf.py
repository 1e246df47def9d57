"""A report as PDF/A-2a by Typst: tagged, with Typst's own fonts alone.

All text reaches Typst as data in JSON, never as markup.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import typst

from monitor.documents.parts import Document, Table
from monitor.documents.writers import written
from monitor.documents.writers.drawable import drawable
from monitor.documents.writers.svg import svg_of

ENDING, MEDIA_TYPE = "pdf", "application/pdf"
NARROW = 22
"""Characters that a column holds in one line; one with longer cells takes what room is left."""


OWN_FONTS = typst.Fonts(include_system_fonts=False)
"""Those that Typst brings, the same on every machine."""


def write(document: Document) -> bytes:
    """The document; the same one gives the same bytes on every machine."""
    source = files("monitor.documents.writers").joinpath("report.typ").read_bytes()
    data = drawable(json.dumps(_data(document), ensure_ascii=False))
    made: bytes = typst.compile(
        source, format="pdf", font_paths=OWN_FONTS, pdf_standards="a-2a",
        sys_inputs={"report": data}, timestamp=int(document.cover.as_known_at.timestamp()),
    )  # fmt: skip
    return made


def _data(document: Document) -> dict[str, Any]:
    cover = document.cover
    period = f"{written.moment(cover.period.start)} to {written.moment(cover.period.end)} UTC"
    facts = [
        ("Purpose", written.plain(cover.purpose)), ("Owner", written.plain(cover.owner)),
        ("Project", written.plain(cover.project)), ("Risk tier", cover.risk_tier),
        ("Period", period), ("As known at", f"{written.moment(cover.as_known_at)} UTC"),
        ("Configuration", f"SHA-256 {cover.configuration}"),
    ]  # fmt: skip
    at = cover.as_known_at
    return {
        "title": written.plain(cover.model), "product": f"Inferwatch {cover.product_version}",
        "year": at.year, "month": at.month, "day": at.day, "facts": facts,
        "most": written.MOST_ROWS,
        "sections": [
            {
                "key": one.key, "title": one.title,
                "sentences": [
                    {"voice": each.voice.value, "text": written.plain(each.text)}
                    for each in one.sentences
                ],
                "charts": [
                    {"title": each.title, "says": written.plain(each.says), "svg": svg_of(each)}
                    for each in one.charts
                ],
                "tables": [_table(each) for each in one.tables],
            }
            for one in document.sections
        ],
    }  # fmt: skip


def _table(table: Table) -> dict[str, Any]:
    rows = [
        [written.cell_text(cell, each.kind) for cell, each in zip(row, table.columns, strict=True)]
        for row in table.rows[: written.MOST_ROWS]
    ]
    return {
        "key": table.key, "title": table.title, "empty": table.empty,
        "left_out": max(0, len(table.rows) - written.MOST_ROWS),
        "columns": [
            {"title": each.title, "right": each.kind in written.RIGHT,
             "wide": any(len(row[place]) > NARROW for row in rows)}
            for place, each in enumerate(table.columns)
        ],
        "rows": rows,
    }  # fmt: skip
