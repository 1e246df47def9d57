"""Verdicts read back: newest first, as known on a day, and on the model's page."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.reports.golden import golden_runs
from tests.contracts.test_pages import all_text, closed_connections, run_page
from tests.dashboard_seed import MODEL, PROJECT
from tests.golden_seed import HOSTILE, seed_golden
from tests.seeded_database import SeededDatabase

__all__ = ["closed_connections"]


@pytest.fixture
def judged(own_database: SeededDatabase) -> SeededDatabase:
    seeded = own_database.seeded
    seed_golden(own_database.engine, seeded.project_id, seeded.model_id, own_database.now)
    return own_database


def test_newest_first_with_what_it_rests_on(judged: SeededDatabase):
    page = judged.ask(golden_runs, judged.seeded.model_id, 1)
    shadow, failed, passed = page.rows
    assert [run.verdict for run in page.rows] == ["outputs_only", "failed", "passed"]
    assert (failed.subject, failed.deployment_id, failed.reference_id) == ("core@3", 2, 1)
    assert failed.kinds["boundary"] == (0, 1)
    assert {case.id for case in failed.failed} == {"near", "odd"}
    assert HOSTILE in " ".join(case.reason for case in failed.failed)
    assert failed.roll_back_to == 1
    assert failed.differs.startswith("They differ in precision")
    assert "only the reference 2" in failed.versus
    (score,) = failed.columns
    assert (score.column, score.beyond) == ("score", 1)
    assert score.largest == pytest.approx(0.4)
    assert (passed.reference, passed.roll_back, passed.failed) == ("", "", ())
    assert (shadow.subject, shadow.is_shadow) == ("shadow:next", True)
    assert "7 live and 3 shadow requests" in shadow.versus
    assert "0 labelled pairs, 50 needed" in shadow.versus


def test_as_known_on_a_day(judged: SeededDatabase):
    before = judged.now - timedelta(minutes=90)
    page = judged.ask(golden_runs, judged.seeded.model_id, 1, before)
    assert [run.verdict for run in page.rows] == ["passed"]


def test_the_model_page_tells_verdicts_and_whom_to_roll_back_to(
    judged: SeededDatabase, monkeypatch
):
    text = all_text(
        run_page(judged.url, monkeypatch, "model", project=PROJECT, model=MODEL, section="golden")
    )
    for part in (
        "Golden sets and shadow pairs",
        "failed",
        "Roll back to deployment 1 (precision float64), the newest that passed core@3.",
        "answers differ",
        "Passed: boundary 0 of 1",
        HOSTILE,
        "shadow:next",
    ):
        assert part in text, part


def test_without_verdicts_the_page_says_how_to_get_one(own_database: SeededDatabase, monkeypatch):
    text = all_text(
        run_page(
            own_database.url, monkeypatch, "model", project=PROJECT, model=MODEL, section="golden"
        )
    )
    assert "No golden set was judged yet" in text
    assert "inferwatch golden apply" in text
