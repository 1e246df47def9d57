"""A report as CSV files, one a table, in a zip. No cell is a formula to a spreadsheet."""

from __future__ import annotations

import csv
import io

from monitor.documents.parts import Document, Table
from monitor.documents.writers.archive import zipped
from monitor.documents.writers.written import plain
from monitor.reports.alert_export_files import cell

ENDING, MEDIA_TYPE = "csv.zip", "application/zip"


def write(document: Document) -> bytes:
    """The zip; its files are named `SECTION.TABLE.csv`."""
    return zipped(files(document))


def files(document: Document) -> dict[str, bytes]:
    """Every table by the name of its file."""
    return {
        f"{section.key}.{table.key}.csv": _table(table)
        for section in document.sections
        for table in section.tables
    }


def _table(table: Table) -> bytes:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\r\n")
    lines.writerow([each.key for each in table.columns])
    for row in table.rows:
        lines.writerow([cell(plain(each) if isinstance(each, str) else each) for each in row])
    return text.getvalue().encode("utf-8", "replace")
