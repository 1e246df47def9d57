"""What is chosen beside a page: days, deployment, section. It stands in the address, holds on the
next page, and narrows what is shown."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from streamlit.testing.v1 import AppTest

from dashboards.registry import PAGES, page_of
from monitor.reports.models import deployments, model_facts
from monitor.reports.time_range import last_days
from tests.contracts.test_pages import APP, all_text, charts_of, closed_connections, run_page
from tests.dashboard_seed import MODEL, PROJECT, STALE_MODEL
from tests.seeded_database import SeededDatabase, database, seeded_template

__all__ = ["closed_connections", "database", "seeded_template"]

HERE = {"project": PROJECT, "model": MODEL, "zone": "UTC"}
SECTIONS = ("traffic", "quality", "drift", "latency", "people", "golden", "rows")


def of(test: AppTest, kind: str, label: str):
    """The widget with this label."""
    (found,) = [each for each in test.get(kind) if each.label == label]
    return found


def newest_deployment(database: SeededDatabase) -> tuple[int, str]:
    model = database.ask(model_facts, MODEL)
    found = database.ask(deployments, model.id)[-1]
    return found.id, found.title


def requests_told(test: AppTest) -> int:
    (value,) = [each.value for each in test.metric if each.label == "Requests"]
    return int(value.replace(",", ""))


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("model", [MODEL, STALE_MODEL])
def test_every_section_of_the_model_page_answers_its_question(
    database: SeededDatabase, monkeypatch, section: str, model: str
):
    query = {**HERE, "model": model, "section": section}
    test = run_page(database.url, monkeypatch, "model", **query)
    assert of(test, "button_group", "Section").value == section
    assert len(charts_of(test)) <= 6
    assert re.search(r"\*\*.+\?\*\*", "\n".join(each.value for each in test.markdown))


@pytest.mark.parametrize(("name", "days"), [("7d", 7), ("30d", 30)])
def test_an_address_that_names_a_range_shows_its_days(
    database: SeededDatabase, monkeypatch, name: str, days: int
):
    test = run_page(database.url, monkeypatch, "model", **HERE, range=name)
    window = last_days(database.seeded.window.end, ZoneInfo("UTC"), days)
    first, last = window.start.date(), (window.end - timedelta(seconds=1)).date()
    assert f"{first} to {last}, zone UTC" in all_text(test)
    assert of(test, "button_group", "Time range").value == name


def test_fewer_days_show_fewer_requests(database: SeededDatabase, monkeypatch):
    counts = [
        requests_told(run_page(database.url, monkeypatch, "model", **HERE, range=name))
        for name in ("24h", "7d", "30d")
    ]
    assert 0 < counts[0] < counts[1] < counts[2]


def test_one_deployment_alone(database: SeededDatabase, monkeypatch):
    """Its requests, its quality, its drift; what is of all of them is told to be so."""
    number, title = newest_deployment(database)
    query = {**HERE, "deployment": str(number)}
    every = requests_told(run_page(database.url, monkeypatch, "model", **HERE))
    test = run_page(database.url, monkeypatch, "model", **query)
    assert 0 < requests_told(test) < every
    assert f"Only deployment `{title}`" in all_text(test)
    quality = run_page(database.url, monkeypatch, "model", **query, section="quality")
    lines = [table.value for table in quality.dataframe if "series" in table.value]
    assert {name for table in lines for name in table["series"]} == {title}
    drift = run_page(database.url, monkeypatch, "model", **query, section="drift")
    (told,) = [each.value for each in drift.dataframe if "state" in each.value]
    assert set(told["deployments"]) == {title}
    whole = run_page(database.url, monkeypatch, "column", **HERE, column="distance")
    alone = run_page(database.url, monkeypatch, "column", **query, column="distance")
    rows = [
        int(next(m.value for m in each.metric if m.label == "Rows now").replace(",", ""))
        for each in (alone, whole)
    ]
    assert 0 < rows[0] < rows[1]


def test_a_deployment_that_is_not_there_is_told_and_nothing_is_shown(
    database: SeededDatabase, monkeypatch
):
    test = run_page(database.url, monkeypatch, "model", **HERE, deployment="987")
    assert "has no deployment 987" in all_text(test)
    assert charts_of(test) == []
    of(test, "selectbox", "Deployment").select(newest_deployment(database)[0]).run()
    assert "has no deployment 987" not in all_text(test)
    assert charts_of(test)


def test_what_is_chosen_stands_in_the_address(database: SeededDatabase, monkeypatch):
    number, _ = newest_deployment(database)
    test = run_page(database.url, monkeypatch, "model", **HERE)
    of(test, "selectbox", "Deployment").select(number).run()
    of(test, "button_group", "Time range").set_value("7d").run()
    of(test, "button_group", "Section").set_value("drift").run()
    assert not test.exception
    named = {name: test.query_params[name] for name in ("deployment", "range", "section")}
    assert {name: value[-1] if isinstance(value, list) else value
            for name, value in named.items()} == {
        "deployment": str(number), "range": "7d", "section": "drift",
    }  # fmt: skip
    of(test, "button_group", "Time range").set_value("custom").run()
    assert "range" not in test.query_params
    assert {"from", "to"} <= set(test.query_params)


@pytest.mark.parametrize("page", [page.url_path for page in PAGES if page.url_path != "alert"])
def test_the_menu_keeps_what_was_chosen(database: SeededDatabase, monkeypatch, page: str):
    """Going by the menu empties the address; the choices of the page before stand in it again."""
    number, _ = newest_deployment(database)
    query = {**HERE, "range": "7d", "deployment": str(number)}
    test = run_page(database.url, monkeypatch, "model", **query)
    test.query_params.clear()
    test.switch_page(str(page_of(page).path.relative_to(APP.parent))).run()
    assert not test.exception
    for name, value in query.items():
        assert value in test.query_params[name]


def test_choosing_another_model_leaves_the_deployment_of_the_first(
    database: SeededDatabase, monkeypatch
):
    number, _ = newest_deployment(database)
    test = run_page(database.url, monkeypatch, "model", **HERE, deployment=str(number))
    of(test, "selectbox", "Model").select(STALE_MODEL).run()
    assert not test.exception
    assert "deployment" not in test.query_params
    assert "No requests" not in all_text(test)


@pytest.mark.parametrize(("zone", "told"), [("Asia/Tokyo", True), ("UTC", False)])
def test_times_are_told_in_utc_too_where_the_reader_has_another_zone(
    database: SeededDatabase, monkeypatch, zone: str, told: bool
):
    """By tooltips of charts, and by the help of what stands in the text."""
    query = {"project": PROJECT, "model": MODEL, "zone": zone}
    test = run_page(database.url, monkeypatch, "model", **query)
    (chart,) = charts_of(test)
    assert ("in UTC" in json.dumps(chart)) is told
    helps = [each.help for each in (*test.markdown, *test.caption) if each.help]
    assert any(text.startswith("In UTC: ") for text in helps) is told
