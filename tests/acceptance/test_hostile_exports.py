"""What leaves the service as a file, over hostile strings in the database: all of it inert."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from pypdf import PdfReader

from tests.acceptance.pages import browser, needs_chromium, visit
from tests.dashboard_seed import MODEL
from tests.hostile_database import hostile
from tests.hostile_strings import HOSTILE
from tests.seeded_database import SeededDatabase, seeded_template
from tests.signed_in import served, signed_in

__all__ = ["browser", "hostile", "seeded_template"]
pytestmark = [pytest.mark.browser, needs_chromium]

STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")
MADE_OF_THEM = (
    "script, iframe, object, embed, base, form, input, button, video, audio, link,"
    " meta[http-equiv=refresh], [href*='evil.example'], [src], [action], [href^='javascript'],"
    " [onerror], [onload], [ontoggle], [onfocus]"
)


@pytest.fixture(scope="module")
def report(hostile: SeededDatabase, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The signed bundle with every form of a report over the strings."""
    folder = tmp_path_factory.mktemp("report")
    first, last = (f"{hostile.now - timedelta(days=ago):%Y-%m-%d}" for ago in (10, 0))
    asked = [MODEL, "--project", "flights", "--from", first, "--to", last, "--format", "zip"]
    _run(hostile, folder, "report", *asked, "-o", "report.zip")
    return zipfile.ZipFile(folder / "report.zip")


def _run(place: SeededDatabase, folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "DATABASE_URL": place.url, "INFERWATCH_HOME": str(folder)}
    command = [sys.executable, "-m", "monitor", *arguments]
    root = Path(__file__).parents[2]
    environment["PYTHONPATH"] = str(root)
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def _member(report: zipfile.ZipFile, ending: str) -> bytes:
    (name,) = [each for each in report.namelist() if each.endswith(ending)]
    return report.read(name)


def test_a_page_of_a_report_does_nothing(
    browser: Browser, report: zipfile.ZipFile, tmp_path: Path
) -> None:
    """Even where a browser may load all it likes."""
    (tmp_path / "report.html").write_bytes(_member(report, "report.html"))
    context = browser.new_context(bypass_csp=True)
    page, gone = context.new_page(), []
    page.on("request", lambda request: gone.append(request.url))
    page.goto(f"file://{tmp_path}/report.html")
    assert page.evaluate("window.ran === undefined")
    found = page.evaluate(
        "selector => [...document.querySelectorAll(selector)].map(each => each.outerHTML)",
        MADE_OF_THEM,
    )
    assert found == []
    assert len(gone) == 1
    text = page.locator("body").inner_text()
    assert sum(each in text for each in HOSTILE) >= 25
    context.close()


def test_json_of_a_report_holds_the_strings_as_they_are(report: zipfile.ZipFile) -> None:
    told = json.loads(_member(report, "report.json"))
    texts = list(_texts(told))
    assert sum(any(each in text for text in texts) for each in HOSTILE) >= 35


def _texts(part: object) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for each in part.values():
            yield from _texts(each)
    elif isinstance(part, list):
        for each in part:
            yield from _texts(each)


def test_no_cell_of_the_tables_of_a_report_is_a_formula(report: zipfile.ZipFile) -> None:
    tables = [each for each in report.namelist() if each.endswith(".csv")]
    assert len(tables) > 10
    for name in tables:
        _no_formula(report.read(name).decode(), name)


def _no_formula(text: str, where: str) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(text)))
    for row in rows:
        for cell in row:
            if cell.lstrip(" ").startswith(STARTS_A_FORMULA):
                float(cell)  # a negative number is one; anything else fails here
    assert rows, where
    return rows


def test_a_pdf_of_a_report_has_no_action_and_no_link(report: zipfile.ZipFile) -> None:
    reader = PdfReader(io.BytesIO(_member(report, "report.pdf")))
    assert not {"/OpenAction", "/AcroForm", "/AA", "/Names"} & set(reader.trailer["/Root"])
    for page in reader.pages:
        for note in page.get("/Annots", []):
            action = note.get_object().get("/A", {})
            assert action.get("/S") != "/JavaScript"
            assert "evil.example" not in str(action.get("/URI", ""))
    text = "".join("".join(page.extract_text().split()) for page in reader.pages)
    assert sum("".join(each.split()) in text for each in HOSTILE) >= 20


def test_an_export_of_alerts_is_data_in_every_form(hostile: SeededDatabase, tmp_path: Path) -> None:
    asked = ("alerts", "export", "--project", "flights", "--output")
    for form in ("json", "ndjson", "csv"):
        _run(hostile, tmp_path, *asked, f"alerts.{form}", "--format", form)
    whole = list(_texts(json.loads((tmp_path / "alerts.json").read_text())))
    lines = [json.loads(each) for each in (tmp_path / "alerts.ndjson").read_text().splitlines()]
    for told in (whole, list(_texts(lines))):
        assert all(any(each in text for text in told) for each in HOSTILE)
    rows = _no_formula((tmp_path / "alerts.csv").read_bytes().decode(), "alerts.csv")
    cells = {cell for row in rows for cell in row}
    assert sum(any(each in cell for cell in cells) for each in HOSTILE) >= 35


def test_the_download_of_a_table_on_a_page_holds_no_formula(
    browser: Browser, hostile: SeededDatabase
) -> None:
    with served(hostile.url) as server:
        context = signed_in(browser, server, viewport={"width": 1440, "height": 2000})
        page = context.new_page()
        # Chromium would ask where to save it; without that it downloads as other browsers do.
        page.add_init_script("delete window.showSaveFilePicker")
        visit(page, server, "schema", model=MODEL)
        buttons = page.get_by_label("Download as CSV").all()
        assert buttons
        for button in buttons:
            with page.expect_download() as got:
                button.evaluate("button => button.click()")
            _no_formula(Path(got.value.path()).read_bytes().decode(), "the table")
        context.close()
