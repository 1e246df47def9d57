"""Every registered page in a real browser over hostile strings, light and dark: all inert, and
axe-core finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser, Page

from dashboards.registry import PAGES
from monitor.deployment import Tags
from monitor.store import tables
from monitor.store.engine import Role, transaction
from monitor.store.models import register_deployment
from tests.acceptance.pages import (
    axe_violations,
    background_is_dark,
    browser,
    needs_chromium,
    visit,
)
from tests.dashboard_seed import MODEL
from tests.hostile_strings import HOSTILE
from tests.seeded_database import SeededDatabase, copy_of, seeded_template
from tests.signed_in import Served, served, signed_in

__all__ = ["browser", "seeded_template"]
pytestmark = [pytest.mark.browser, needs_chromium]

# What the strings would become: nothing of this is on a page of ours without them.
MADE_OF_THEM = (
    "[href*='evil.example'], [src*='evil.example'], [action*='evil.example'],"
    " [href^='javascript'], img[src='x'], iframe[srcdoc], iframe[src^='javascript'],"
    " [onerror], [onload], [ontoggle], [onfocus], .stMain b, .stMain details[ontoggle]"
)
ALERT = "deployment-contrast/distance"


@pytest.fixture(scope="module")
def hostile(postgres_server, seeded_template) -> Iterator[SeededDatabase]:
    for copy in copy_of(postgres_server, seeded_template):
        _poison(copy)
        yield copy


@pytest.fixture(scope="module")
def server(hostile: SeededDatabase) -> Iterator[Served]:
    with served(hostile.url) as address:
        yield address


def _poison(copy: SeededDatabase) -> None:
    """Names, reasons, comments, tags, errors and files that hold all of the strings."""
    seeded, now = copy.seeded, copy.now
    key = {"project_id": seeded.project_id, "model_id": seeded.model_id}
    alert = seeded.alert_ids[ALERT]
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    with transaction(copy.engine, seeded.project_id, Role.OWNER) as connection:
        for place, text in enumerate(HOSTILE):
            at = now - timedelta(seconds=place)
            rows = {
                tables.rejection: {**key, "kind": text, "place": place, "reason": text,
                                   "message": text, "excerpt": text, "request_id": text,
                                   "received_at": at},
                tables.violation_example: {**key, "column_name": text, "reason": 6, "day": day,
                                           "example": text},
                tables.alert_transition: {
                    "project_id": seeded.project_id, "alert_id": alert, "at": at, "by": text,
                    "episode": 1, "from_state": "firing", "to_state": "firing",
                    "reason": "acknowledged", "comment": text, "body": {}},
                tables.job_window: {**key, "job": text, "window_start": seeded.window.start,
                                    "state": "failed", "fence": 1, "worker": text,
                                    "lease_until": now, "error": text},
                tables.contract: {**key, "version": 100 + place, "body": {}, "source": text,
                                  "layout": {}, "applied_by": text},
            }  # fmt: skip
            rows[tables.contract] |= _oldest_contract(connection, seeded.model_id)
            for table, values in rows.items():
                connection.execute(sa.insert(table).values(values))
            # Tags hold printable characters only; anything else is refused where it comes in.
            tag = f"{place} {''.join(each for each in text if each.isprintable())}"
            register_deployment(connection, seeded.project_id, seeded.model_id,
                                Tags.of({"model_version": tag}), tag, now)  # fmt: skip


def _oldest_contract(connection, model_id: int) -> dict:
    row = connection.execute(
        sa.select(tables.contract.c.body, tables.contract.c.layout)
        .where(tables.contract.c.model_id == model_id)
        .order_by(tables.contract.c.version)
        .limit(1)
    ).one()
    return dict(row._mapping)


def test_there_are_forty():
    assert len(set(HOSTILE)) == 40


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("url_path", [page.url_path for page in PAGES])
def test_no_string_does_anything_and_axe_finds_nothing(
    browser: Browser, server: Served, hostile: SeededDatabase, url_path: str, look: str
):
    size = {"width": 1440, "height": 900}
    context = signed_in(browser, server, viewport=size, color_scheme=look)
    page, gone = context.new_page(), []
    page.on("request", lambda request: gone.append(request.url))
    query = {"alert": str(hostile.seeded.alert_ids[ALERT])} if url_path == "alert" else {}
    visit(page, server, url_path, model=MODEL, **query)
    _inert(page)
    assert not [url for url in gone if "evil.example" in url]
    assert background_is_dark(page) == (look == "dark")
    assert axe_violations(page) == []
    context.close()


def _inert(page: Page) -> None:
    assert page.evaluate("window.ran === undefined")
    found = page.evaluate(
        "selector => [...document.querySelectorAll(selector)].map(each => each.outerHTML)",
        MADE_OF_THEM,
    )
    assert found == []


def test_the_strings_stand_literally_where_they_are_shown(
    browser: Browser, server: Served, hostile: SeededDatabase
):
    context = signed_in(browser, server, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    visit(page, server, "alert", alert=str(hostile.seeded.alert_ids[ALERT]))
    text = page.locator("[data-testid=stMain]").inner_text().replace("\u2060", "")
    for string in HOSTILE[:30]:
        assert string in text
    context.close()
