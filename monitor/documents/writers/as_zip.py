"""All forms of a report in one zip."""

from __future__ import annotations

from monitor.documents.parts import Document
from monitor.documents.writers import as_csv, as_html, as_json, as_pdf
from monitor.documents.writers.archive import zipped

ENDING, MEDIA_TYPE = "zip", "application/zip"


def parts(document: Document) -> dict[str, bytes]:
    """The files by name."""
    tables = {f"tables/{name}": body for name, body in as_csv.files(document).items()}
    return {
        "report.json": as_json.write(document), "report.html": as_html.write(document),
        "report.pdf": as_pdf.write(document), **tables,
    }  # fmt: skip


def write(document: Document) -> bytes:
    """The zip."""
    return zipped(parts(document))
