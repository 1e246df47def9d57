"""The page "Compare" on what the real jobs made of stored requests: picked, made now, as stored."""

from __future__ import annotations

import pytest
from sqlalchemy.engine import Engine

from dashboards import data
from monitor.compare_versions import Wanted
from monitor.jobs.comparison.compare_deployments import compare_deployments
from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.contracts.test_pages import all_text, charts_of, closed_connections, run_page
from tests.factories import START, TestClock
from tests.integration.cli.comparison_scene import AMBER, BLUE, GREEN, served

__all__ = ["closed_connections"]
HERE = {"project": "default", "model": "credit"}
HOSTILE = "ada <script>alert(1)</script> [x](javascript:1) **b**"


@pytest.fixture
def model(
    engine: Engine, project_id: int, store: IntakeStore, runner: Runner, clock: TestClock
) -> ModelContext:
    return served(engine, project_id, store, runner, clock)


def test_it_is_picked_made_and_shown(
    model: ModelContext, engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # nothing stored yet: the two deployments that began last, and how to compare them
    test = run_page(database_url, monkeypatch, "compare", **HERE)
    assert "have not been compared" in all_text(test)
    (button,) = [each for each in test.button if each.label == "Compare now"]
    button.click().run()
    assert not test.exception
    text = all_text(test)
    assert "made now, not stored" in text
    assert "b is worse" in text
    assert "Canary by accuracy: harm beyond 0.02" in text
    assert len(charts_of(test)) == 5

    confounded = run_page(database_url, monkeypatch, "compare", **HERE, a="1", b="3", now="1")
    text = all_text(confounded)
    assert "the effect of one alone can't be separated" in text
    assert "runtime_version,1.6,1.7" in text
    assert "precision,float64,float16" in text

    wanted = Wanted((BLUE,), (GREEN,))
    compare_deployments(engine, model, wanted, by=HOSTILE, now=START)
    data.forget()  # answers are kept for some seconds
    stored = run_page(database_url, monkeypatch, "compare", **HERE)
    text = all_text(stored)
    assert "b is better" in text
    assert f"stored by {HOSTILE}" in text
    assert "Stored comparisons" in text
    known = run_page(database_url, monkeypatch, "compare", **HERE, as_of="2024-04-29")
    assert "Stored comparisons" not in all_text(known)
    assert not [each for each in known.button if each.label == "Compare now"]


def test_sides_that_are_no_sides_are_told(
    model: ModelContext, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for a, b in (("1", "1"), ("1,2", "2,3")):
        test = run_page(database_url, monkeypatch, "compare", **HERE, a=a, b=b)
        assert "Choose two sides" in all_text(test)
    odd = run_page(database_url, monkeypatch, "compare", **HERE, a="99,x,-1", b=str(AMBER))
    assert not odd.exception
