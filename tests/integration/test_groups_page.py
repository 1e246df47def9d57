"""The page Groups over loans with a planted truth."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.engine import Engine

from dashboards import data
from monitor.jobs.explanation.explain import Question, explain
from monitor.jobs.names import CHECKS_MONTH, LABELS, PROFILE, WORST_GROUPS
from monitor.jobs.run import Runner
from monitor.records import LIVE_LEG
from monitor.store.intake_store import IntakeStore
from monitor.windows import Window
from tests.contracts.test_pages import all_text, charts_of, run_page
from tests.factories import TestClock
from tests.integration.jobs.support import context_of
from tests.integration.lending import DAY, JUNE, MAY, lending_model, loans, send_loans

HOSTILE = "<script>alert(1)</script> $x$ :smile:"


@pytest.fixture(autouse=True)
def closed_connections():
    yield
    data.forget()
    data.engine.clear()


def test_the_page_tells_verdicts_worst_groups_and_an_explanation(
    store: IntakeStore, engine: Engine, runner: Runner, project_id: int, clock: TestClock,
    database_url: str, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    clock.now = JUNE + 45 * DAY
    model = lending_model(engine, project_id)
    found = [*loans(MAY, 8, 150, seed=7), *loans(JUNE, 8, 150, seed=8, later=True)]
    for loan in found[:150]:
        loan.row["sex"] = HOSTILE
    send_loans(store, model, found)
    runner.catch_up({PROFILE, LABELS, CHECKS_MONTH, WORST_GROUPS})
    question = Question(
        Window(JUNE, JUNE + timedelta(days=8)), Window(MAY, MAY + timedelta(days=8)), LIVE_LEG
    )
    explain(context_of(runner, model), question, by=HOSTILE)
    dates = {"from": "2024-05-01", "to": "2024-05-31"}

    test = run_page(database_url, monkeypatch, "groups", model="credit", **dates)
    text = all_text(test)
    for words in (
        "sex: favourable answers", "◆ reference", "⇄ turns round", "▼ confirmed",
        "channel = phone", "The error rate went from",
        "consistent with the same inputs being judged worse", HOSTILE,
    ):  # fmt: skip
        assert words in text, words
    assert len(charts_of(test)) == 2
    assert not test.error

    earlier = run_page(
        database_url, monkeypatch, "groups", model="credit", as_of="2024-05-20", **dates
    )
    assert "No month of groups was measured" in all_text(earlier)
    assert "No change of quality was explained yet" in all_text(earlier)
