"""Costs and routes on the page Serving, over a played day."""

from __future__ import annotations

import pytest

from dashboards import data
from monitor.store.models import ModelContext
from tests.contracts.test_pages import all_text, charts_of, run_page
from tests.integration.jobs.test_costs_and_cascade import played

__all__ = ["played"]

DATES = {"from": "2024-05-01", "to": "2024-05-01"}


@pytest.fixture(autouse=True)
def closed_connections():
    yield
    data.forget()
    data.engine.clear()


@pytest.mark.parametrize("played", ["label"], indirect=True)
def test_the_page_tells_costs_with_their_condition_and_the_routes_beside_each_other(
    played: ModelContext, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = run_page(database_url, monkeypatch, "serving", model="credit", **DATES)
    text = all_text(test)
    for words in (
        "A task is a success when the prediction was right, by the label default",
        "Of the newest day's total: usage 100.0%",
        "Routes of the cascade",
        "Router error: 26.7% of the 300 labelled requests that small kept are wrong.",
        "a shadow leg",
    ):
        assert words in text, words
    assert not test.error
    assert not test.exception
    assert len(charts_of(test)) >= 1
