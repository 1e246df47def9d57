"""No page reads rows of requests or labels: every page is drawn from what jobs have counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from dashboards import data
from dashboards.registry import PAGES
from monitor.store.engine import Role, transaction
from tests.contracts.test_pages import FULL, run_page
from tests.dashboard_seed import PROJECT
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template

__all__ = ["database", "own_database", "seeded_template"]

# `label_orphan` is no part of it: the Labels page counts the labels that found no request there.
RAW_ROWS = re.compile(r"\b(?:from|join)\s+(?:only\s+)?\"?(?:request_log|label)\b", re.IGNORECASE)


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Every statement that this process sends to any database meanwhile."""
    sent: list[str] = []

    def note(_connection, _cursor, statement, *_others) -> None:
        sent.append(statement)

    sa.event.listen(Engine, "before_cursor_execute", note)
    yield sent
    sa.event.remove(Engine, "before_cursor_execute", note)
    data.forget()
    data.engine.clear()


@pytest.mark.parametrize("page", [page.url_path for page in PAGES])
def test_a_page_reads_no_request_and_no_label(
    database: SeededDatabase, statements: list[str], monkeypatch, page: str
):
    data.forget()  # an answer that is remembered would send nothing
    run_page(database.url, monkeypatch, page, project=PROJECT, **FULL.get(page, {}))
    assert any("measurement" in each or "profile" in each for each in statements)
    assert [each for each in statements if RAW_ROWS.search(each)] == []


def test_a_read_of_rows_would_be_seen(database: SeededDatabase, statements: list[str]):
    with transaction(database.engine, database.seeded.project_id, Role.OWNER) as connection:
        connection.execute(sa.text("select count(*) from request_log"))
    assert [each for each in statements if RAW_ROWS.search(each)]
