"""Reports of a seeded model: whole, the same each time, and as they were known."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path

import jsonschema
import pytest
import sqlalchemy as sa

from monitor.documents.build import Question, build_document
from monitor.documents.coverage import COVERAGE
from monitor.documents.parts import Document, Section
from monitor.documents.registry import SECTIONS
from monitor.documents.writers import as_html, as_json, as_pdf
from monitor.errors import UnknownSubject
from monitor.store.engine import Role, transaction
from monitor.store.tables import measurement
from monitor.windows import Window
from tests.dashboard_seed import MODEL, SILENT_MODEL, STALE_MODEL
from tests.integration.cli.conftest import Run, run
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template

__all__ = ["database", "own_database", "run", "seeded_template"]

pytestmark = pytest.mark.postgres
SCHEMA = Path(__file__).parents[3] / "docs" / "report.schema.json"
CLAIMS = re.compile(r"\b(compl(y|ies|iant|ied)|conform\w*|certif(y|ies|ied))\b", re.IGNORECASE)


def asked(place: SeededDatabase, known_by: datetime | None = None, model: str = MODEL) -> Question:
    period = Window(place.now - timedelta(days=30), place.now)
    return Question(place.seeded.project_id, model, period, known_by or filled(place))


def filled(place: SeededDatabase) -> datetime:
    """When all rows had been written: some carry the clock of the database."""
    return place.now + timedelta(minutes=10)


def built(place: SeededDatabase, known_by: datetime | None = None, model: str = MODEL) -> Document:
    return build_document(place.engine, asked(place, known_by, model))


def section_of(document: Document, key: str) -> Section:
    return next(each for each in document.sections if each.key == key)


@pytest.fixture(scope="module")
def document(database: SeededDatabase) -> Document:
    return built(database)


def test_every_section_is_there_once(document: Document) -> None:
    keys = [each.key for each in document.sections]
    assert len(set(keys)) == len(keys) == len(SECTIONS) + 1
    for covered in COVERAGE:
        assert set(covered.sections) <= set(keys), covered


def test_every_number_of_quality_has_n_version_and_the_moment_it_was_known(
    document: Document, database: SeededDatabase
) -> None:
    months, days = section_of(document, "quality").tables
    assert days.rows
    for table in (months, days):
        names = [each.key for each in table.columns]
        for row in table.rows:
            told = dict(zip(names, row, strict=True))
            assert told["version"]
            assert told["known_at"] <= filled(database)
            if told.get("value") is not None or told.get("worst") is not None:
                assert told["n"]


def test_findings_tell_owner_response_and_times(document: Document) -> None:
    (table, _, words) = section_of(document, "findings").tables
    names = [each.key for each in table.columns]
    found = [dict(zip(names, row, strict=True)) for row in table.rows]
    assert found
    assert len(words.rows) == len(found)
    for each in found:
        assert each["owner"]
        assert each["response"]
        assert each["fired_at"] <= each["noticed_at"]


def test_a_deployment_that_began_stands_beside_the_one_before_it(
    document: Document, database: SeededDatabase
) -> None:
    """Read again: on the newest day that both were measured of, with value, limits and n."""
    table = next(
        each for each in section_of(document, "changes").tables if each.key == "before_after"
    )
    names = [each.key for each in table.columns]
    found = [dict(zip(names, row, strict=True)) for row in table.rows]
    (auc,) = [each for each in found if each["what"] == "quality: auc"]
    assert auc["cohort"] == "same day"
    assert auc["before_day"] == auc["after_day"]
    row = measurement.c
    with transaction(database.engine, database.seeded.project_id, Role.OWNER) as connection:
        stored = {
            tuple(each.deployment_ids): (each.value, each.low, each.high, each.n)
            for each in connection.execute(
                sa.select(measurement)
                .where(row.model_id == database.seeded.model_id, row.method == "auc")
                .where(row.segment_id == 0, row.window_start == auc["before_day"])
                .order_by(row.known_at)
            )
        }
    first, second = sorted(number for numbers in stored if len(numbers) == 1 for number in numbers)
    for side, number in (("before", first), ("after", second)):
        told = tuple(auc[f"{side}_{name}"] for name in ("value", "low", "high", "n"))
        assert told == stored[(number,)]


def test_the_json_follows_its_schema(document: Document) -> None:
    jsonschema.validate(json.loads(as_json.write(document)), json.loads(SCHEMA.read_text()))


def test_it_says_addresses_and_never_claims_more(document: Document) -> None:
    page = re.sub(r"<style>.*?</style>", "", as_html.write(document).decode(), flags=re.DOTALL)
    assert "What this report addresses" in page
    assert not CLAIMS.search(page)


def test_built_again_it_is_the_same_to_the_byte(
    document: Document, database: SeededDatabase
) -> None:
    again = built(database)
    for writer in (as_json, as_html, as_pdf):
        assert writer.write(again) == writer.write(document)


def test_what_came_later_changes_nothing_of_what_was_known(own_database: SeededDatabase) -> None:
    known_by = filled(own_database)
    before = as_json.write(built(own_database, known_by))
    later = known_by + timedelta(hours=1)
    copied = (
        "project_id, model_id, check_name, method, method_version, deployment_ids, leg,"
        " segment_id, column_name, window_start, window_end, baseline_id, state"
    )
    rest = "low, high, level, n, n_reference, unit, direction, reason, detail"
    revise = f"""insert into measurement ({copied}, value, {rest}, known_at)
        select {copied}, value / 2, {rest}, :later from measurement
        where state = 'measured' and check_name in ('quality', 'calibration', 'drift')"""
    change = """insert into alert_transition (project_id, alert_id, episode, from_state, to_state,
        reason, by, comment, at, recorded_at, body)
        select project_id, id, episode, state, state, 'acknowledged', 'Eve', 'later', :later,
        :later, '{}' from alert"""
    rules = """insert into alert_config (project_id, version, source, applied_by, applied_at)
        select project_id, version + 1, source, 'Eve', :later from alert_config
        order by version desc limit 1"""
    with transaction(own_database.engine, own_database.seeded.project_id, Role.OWNER) as writing:
        for statement in (revise, change, rules):
            assert writing.execute(sa.text(statement), {"later": later}).rowcount
    assert as_json.write(built(own_database, known_by)) == before
    assert as_json.write(built(own_database, later)) != before


@pytest.mark.parametrize("model", [STALE_MODEL, SILENT_MODEL])
def test_a_model_in_trouble_has_a_report_that_says_so(database: SeededDatabase, model: str) -> None:
    document = built(database, model=model)
    voices = {s.voice.value for each in document.sections for s in each.sentences}
    assert voices & {"bad", "missing"}
    as_pdf.write(document)


def test_a_moment_before_the_model_was_known_is_refused(database: SeededDatabase) -> None:
    with pytest.raises(UnknownSubject, match="had no model"):
        built(database, database.now - timedelta(days=4_000))


def test_the_command_writes_every_form(
    run: Run, database: SeededDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database.url)
    first, last = (f"{database.now - timedelta(days=ago):%Y-%m-%d}" for ago in (20, 1))
    span = (MODEL, "--project", "flights", "--from", first, "--to", last)
    for form, start in (("pdf", b"%PDF"), ("html", b"<!doctype"), ("json", b"{"), ("csv", b"PK"),
                        ("zip", b"PK")):  # fmt: skip
        path = tmp_path / f"report.{form}"
        done = run("report", *span, "--format", form, "-o", path)
        assert (done.code, done.err) == (0, "")
        assert path.read_bytes().startswith(start)
    wrong = run("report", MODEL, "--project", "flights", "--from", last, "--to", first)
    assert wrong.code == 2
    assert "--to" in wrong.err
    nowhere = run("report", *span, "-o", tmp_path / "missing" / "x.pdf")
    assert nowhere.code == 2
    assert "can't be written" in nowhere.err


def test_the_zip_verifies_and_one_changed_byte_is_found(
    run: Run, database: SeededDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database.url)
    first, last = (f"{database.now - timedelta(days=ago):%Y-%m-%d}" for ago in (5, 1))
    path = tmp_path / "report.zip"
    asked = (MODEL, "--project", "flights", "--from", first, "--to", last, "--format", "zip")
    assert run("report", *asked, "-o", path).code == 0
    told = run("verify", path)
    assert told.code == 0, told.err
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(bytes(body))
    assert run("verify", path).code == 1
