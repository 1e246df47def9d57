"""Choices inside a section and the choice of a segment: in the address, restored from it."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from monitor.store.engine import Role, transaction
from monitor.store.tables import measurement, profile, segment
from tests.contracts.test_choices import HERE, of
from tests.contracts.test_pages import all_text, closed_connections, run_page
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template

__all__ = ["closed_connections", "database", "own_database", "seeded_template"]

NAME = "carrier=**UA** <b>x</b>"
IN_SECTIONS = (
    ("model", {"section": "quality"}, "Measure", "quality=accuracy"),
    ("model", {"section": "drift"}, "Question", "question=drift seasonal"),
    ("column", {"column": "distance"}, "Method", "method_1=wasserstein"),
    ("calibration", {}, "Error", "calibration=combined_test"),
)


@pytest.mark.parametrize(("page", "query", "label", "written"), IN_SECTIONS)
def test_a_choice_is_written_to_the_address_and_read_from_it(
    database: SeededDatabase, monkeypatch, page: str, query: dict[str, str], label: str,
    written: str,
):  # fmt: skip
    name, _, value = written.partition("=")
    test = run_page(database.url, monkeypatch, page, **HERE, **query)
    usual = of(test, "selectbox", label).value
    assert usual != value
    of(test, "selectbox", label).set_value(value).run()
    assert test.query_params[name] == value
    again = run_page(database.url, monkeypatch, page, **HERE, **query, **{name: value})
    assert of(again, "selectbox", label).value == value
    rubbish = run_page(database.url, monkeypatch, page, **HERE, **query, **{name: "<b>no</b>"})
    assert of(rubbish, "selectbox", label).value == usual


def with_segment(copy: SeededDatabase) -> None:
    """A segment of a third of the rows, with quality of its own."""
    seeded = copy.seeded
    with transaction(copy.engine, seeded.project_id, Role.OWNER) as connection:
        number = connection.scalar(
            sa.insert(segment).values(
                project_id=seeded.project_id, model_id=seeded.model_id,
                definition={"carrier": NAME.removeprefix("carrier=")},
            ).returning(segment.c.id)
        )  # fmt: skip
        parts = sa.select(profile).where(profile.c.part == 1)
        measured = sa.select(measurement).where(
            measurement.c.method == "auc", measurement.c.state == "measured"
        )
        for table, query, change in (
            (profile, parts, {"n": 7}),
            (measurement, measured, {"value": 0.123, "n": 77}),
        ):
            whole = query.where(table.c.model_id == seeded.model_id, table.c.segment_id == 0)
            rows = [
                {**row._mapping, **change, "segment_id": number}
                for row in connection.execute(whole).all()
            ]
            for row in rows:
                row.pop("id", None)
            connection.execute(sa.insert(table), rows)


def test_a_segment_of_the_address_narrows_what_was_measured_of_it(
    own_database: SeededDatabase, monkeypatch
):
    with_segment(own_database)
    quality = {**HERE, "section": "quality"}
    test = run_page(own_database.url, monkeypatch, "model", **quality, segment=NAME)
    text = all_text(test)
    assert "Only segment" in text
    assert NAME in text
    assert "n 77" in text
    assert of(test, "selectbox", "Segment").value is not None
    whole = all_text(run_page(own_database.url, monkeypatch, "model", **quality))
    assert "n 77" not in whole
    column = run_page(own_database.url, monkeypatch, "column", **HERE, column="wind", segment=NAME)
    assert "Rows now" in all_text(column)


def test_choosing_a_segment_writes_it_and_all_requests_takes_it_away(
    own_database: SeededDatabase, monkeypatch
):
    with_segment(own_database)
    test = run_page(own_database.url, monkeypatch, "model", **HERE)
    choice = of(test, "selectbox", "Segment")
    choice.select_index(1).run()
    assert test.query_params["segment"] == NAME
    of(test, "selectbox", "Segment").select_index(0).run()
    assert "segment" not in test.query_params


@pytest.mark.parametrize("page", ["model", "column", "calibration"])
def test_a_segment_that_is_not_there_is_told_with_a_way_out(
    database: SeededDatabase, monkeypatch, page: str
):
    test = run_page(database.url, monkeypatch, page, **HERE, segment="carrier=<i>none</i>")
    assert "There is no such segment" in shown(test)
    assert not test.metric
    (button,) = [each for each in test.button if each.label == "Show all requests"]
    button.click().run()
    assert "segment" not in test.query_params
    assert "There is no such segment" not in shown(test)


def test_a_page_of_all_requests_says_so(database: SeededDatabase, monkeypatch):
    test = run_page(database.url, monkeypatch, "runs", **HERE, segment="carrier=UA")
    assert "This page shows all requests, of every segment" in all_text(test)


def shown(test: AppTest) -> str:
    """All text with error boxes."""
    return all_text(test) + "\n".join(each.value for each in (*test.error, *test.warning))
