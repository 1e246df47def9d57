"""The forms of a report by the name a person asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from monitor.documents.parts import Document
from monitor.documents.writers import as_csv, as_html, as_json, as_pdf, as_zip


@dataclass(frozen=True)
class Form:
    """A way to write a report."""

    ending: str
    media_type: str
    write: Callable[[Document], bytes]


ZIP = "zip"

FORMS: Mapping[str, Form] = {
    "pdf": Form(as_pdf.ENDING, as_pdf.MEDIA_TYPE, as_pdf.write),
    "html": Form(as_html.ENDING, as_html.MEDIA_TYPE, as_html.write),
    "json": Form(as_json.ENDING, as_json.MEDIA_TYPE, as_json.write),
    "csv": Form(as_csv.ENDING, as_csv.MEDIA_TYPE, as_csv.write),
    ZIP: Form(as_zip.ENDING, as_zip.MEDIA_TYPE, as_zip.write),
}
