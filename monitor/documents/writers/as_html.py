"""A report as one HTML file that needs nothing else: no script, nothing loaded, printable."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from monitor.documents.parts import Chart, Document, Table
from monitor.documents.writers import written
from monitor.documents.writers.svg import svg_of

ENDING, MEDIA_TYPE = "html", "text/html; charset=utf-8"


def write(document: Document) -> bytes:
    """The page; every text from outside is escaped."""
    page = _template().render(document=document, cover=document.cover)
    return page.encode("utf-8", "replace")


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True)  # fmt: skip
    environment.filters.update(moment=written.moment, plain=written.plain)
    environment.globals.update(picture=_picture, shown=_shown, most=written.MOST_ROWS)
    source = files("monitor.documents.writers").joinpath("report.html").read_text("utf-8")
    return environment.from_string(source)


def _picture(chart: Chart) -> Markup:
    return Markup(svg_of(chart))  # noqa: S704 -- svg_of escapes every text


def _shown(table: Table) -> list[list[tuple[str, bool]]]:
    """Cells as text, and whether they stand on the right."""
    return [
        [
            (written.cell_text(cell, column.kind), column.kind in written.RIGHT)
            for cell, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows[: written.MOST_ROWS]
    ]
