"""Every form of a report: the same bytes each time, and no text from outside that does anything."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import unicodedata
import zipfile
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest
from pypdf import PdfReader

from monitor.documents.parts import (
    Chart,
    Column,
    Cover,
    Document,
    Kind,
    Line,
    Point,
    Section,
    Sentence,
    Table,
    Voice,
)
from monitor.documents.writers import as_csv, as_html, as_json, as_pdf
from monitor.documents.writers.drawable import RANGES, drawable
from monitor.documents.writers.registry import FORMS
from monitor.windows import Window
from tests.unit.documents.hostile import HOSTILE

BEGAN = datetime(2026, 9, 1, tzinfo=UTC)
SCHEMA = Path(__file__).parents[3] / "docs" / "report.schema.json"
COLUMNS = (
    Column("text", "Text"), Column("whole", "Whole", Kind.WHOLE),
    Column("number", "Number", Kind.NUMBER), Column("share", "Share", Kind.SHARE),
    Column("at", "At", Kind.MOMENT),
)  # fmt: skip


def made(texts: tuple[str, ...] = ("plain",)) -> Document:
    """A document that holds texts in every place that can hold one."""
    rows = tuple((text, 12_345, 0.123456, 0.5, BEGAN) for text in texts)
    first = texts[0]
    points = tuple(
        Point(BEGAN + timedelta(days=day), None if day == 3 else 0.9 - day / 100, 0.7, 0.95)
        for day in range(6)
    )
    lines = tuple(Line(text, points) for text in texts[:5])
    table = Table("rows", "Rows", COLUMNS, (*rows, (None, None, None, None, None)))
    empty = Table("none", "Nothing", COLUMNS, (), "Nothing was there.")
    section = Section(
        "things", "Things",
        tuple(Sentence(text, voice) for voice in Voice for text in texts),
        (table, empty), (Chart("lines", first, "share", lines, first),),
    )  # fmt: skip
    cover = Cover(first, first, first, first, "high", Window(BEGAN, BEGAN + timedelta(days=30)),
                  "UTC", BEGAN + timedelta(days=31), "0.1.0", "0" * 64)  # fmt: skip
    return Document(cover, (section,))


@pytest.mark.parametrize("name", FORMS)
def test_the_same_document_gives_the_same_bytes(name: str) -> None:
    assert FORMS[name].write(made()) == FORMS[name].write(made())


def test_json_follows_the_published_schema_and_keeps_all_digits() -> None:
    told = json.loads(as_json.write(made(HOSTILE)))
    jsonschema.validate(told, json.loads(SCHEMA.read_text()))
    (table, _) = told["sections"][0]["tables"]
    assert table["rows"][0][1:] == [12_345, 0.123456, 0.5, "2026-09-01T00:00:00Z"]
    assert len(table["rows"]) == len(HOSTILE) + 1


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_hostile_text_adds_no_element_to_the_page_and_can_be_read() -> None:
    plain, hostile = _Page(), _Page()
    plain.feed(as_html.write(made(tuple("plain" for _ in HOSTILE))).decode())
    hostile.feed(as_html.write(made(HOSTILE)).decode())
    assert hostile.tags == plain.tags
    assert hostile.names == plain.names
    assert "script" not in hostile.tags
    assert not {name for name in hostile.names if name.startswith("on")}
    assert "<script>alert(1)</script>" in "".join(hostile.texts)


def test_nothing_is_loaded_by_the_page() -> None:
    page = as_html.write(made(HOSTILE)).decode()
    assert "default-src 'none'" in page
    parsed = _Page()
    parsed.feed(page)
    assert not parsed.names & {"src", "srcset", "action", "background"}
    assert not {"link", "iframe", "object", "embed", "base"} & set(parsed.tags)


def test_no_cell_of_a_csv_is_a_formula() -> None:
    archive = zipfile.ZipFile(io.BytesIO(as_csv.write(made(HOSTILE))))
    assert archive.namelist() == ["things.none.csv", "things.rows.csv"]
    text = archive.read("things.rows.csv").decode()
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["text", "whole", "number", "share", "at"]
    assert len(rows) == len(HOSTILE) + 2
    for row in rows[1:]:
        assert not row[0].lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))


def test_the_pdf_is_tagged_named_and_holds_hostile_text_as_text() -> None:
    written = as_pdf.write(made(HOSTILE))
    reader = PdfReader(io.BytesIO(written))
    root = reader.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/Lang"] == "en"
    assert "monitoring report" in str(reader.metadata.title if reader.metadata else "")
    assert b"pdfaid:part" in written
    assert "/OpenAction" not in root
    assert "/AcroForm" not in root
    names = {key for page in reader.pages for key in page}
    assert "/AA" not in names
    text = re.sub(r"\s", "", "".join(page.extract_text() for page in reader.pages))
    for shown in ("<script>alert(1)</script>", "#import", "=HYPERLINK("):
        assert shown.replace(" ", "") in text


def test_a_character_that_the_fonts_lack_is_told_by_its_number() -> None:
    written = as_pdf.write(made(("\U00017000 and 温 in no font",)))
    assert b"pdfaid:part" in written
    text = PdfReader(io.BytesIO(written)).pages[0].extract_text()
    assert "U+17000" in text
    assert "U+6E29 in no font" in re.sub(r"\s+", " ", text)


def test_every_character_that_stays_one_can_be_drawn() -> None:
    """By Typst itself, which refuses a PDF/A with a character that no font of its own draws."""
    kept = [
        chr(code)
        for first, last in RANGES
        for code in range(first, last + 1)
        if unicodedata.category(chr(code))[0] in "LNPSM"
    ]
    assert len(kept) > 4_000
    assert drawable("".join(kept)) == "".join(kept)
    as_pdf.write(made(tuple("".join(kept[at : at + 50]) for at in range(0, len(kept), 50))))


def test_a_long_table_says_where_the_rest_stands() -> None:
    rows = tuple(("x", number, 0.1, 0.1, BEGAN) for number in range(75))
    short = made()
    table = Table("long", "Long", COLUMNS, rows)
    document = Document(short.cover, (Section("s", "S", (), (table,), ()),))
    page = as_html.write(document).decode()
    assert "15 more rows stand in s.long.csv." in page
    assert len(json.loads(as_json.write(document))["sections"][0]["tables"][0]["rows"]) == 75


@pytest.mark.skipif(
    subprocess.run(["which", "pdftoppm"], capture_output=True, check=False).returncode != 0,
    reason="pdftoppm (poppler-utils) draws the pages",
)
def test_the_pdf_can_be_drawn(tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(as_pdf.write(made()))
    subprocess.run(
        ["pdftoppm", "-r", "30", "-png", "report.pdf", "page"], cwd=tmp_path, check=True, timeout=60
    )
    assert list(tmp_path.glob("page*.png"))
