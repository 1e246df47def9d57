"""Every registered page in a real browser over hostile strings, light and dark: all inert, and
axe-core finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from dashboards.registry import PAGES
from tests.acceptance.pages import (
    axe_violations,
    background_is_dark,
    browser,
    needs_chromium,
    settled,
    visit,
)
from tests.dashboard_seed import MODEL
from tests.hostile_database import ALERT, hostile
from tests.hostile_strings import HOSTILE
from tests.seeded_database import SeededDatabase, seeded_template
from tests.signed_in import Served, served, signed_in

__all__ = ["browser", "hostile", "seeded_template"]
pytestmark = [pytest.mark.browser, needs_chromium]

# What the strings would become: nothing of this is on a page of ours without them.
MADE_OF_THEM = (
    "[href*='evil.example'], [src*='evil.example'], [action*='evil.example'],"
    " [href^='javascript'], img[src='x'], iframe[srcdoc], iframe[src^='javascript'],"
    " [onerror], [onload], [ontoggle], [onfocus], .stMain b, .stMain details[ontoggle]"
)


@pytest.fixture(scope="module")
def server(hostile: SeededDatabase) -> Iterator[Served]:
    with served(hostile.url) as address:
        yield address


def test_there_are_forty():
    assert len(set(HOSTILE)) == 40


@pytest.mark.parametrize("url_path", [page.url_path for page in PAGES])
def test_no_string_does_anything_and_axe_finds_nothing(
    browser: Browser, server: Served, hostile: SeededDatabase, url_path: str
):
    size = {"width": 1440, "height": 900}
    context = signed_in(browser, server, viewport=size, color_scheme="light")
    page, gone = context.new_page(), []
    page.on("request", lambda request: gone.append(request.url))
    query = {"alert": str(hostile.seeded.alert_ids[ALERT])} if url_path == "alert" else {}
    visit(page, server, url_path, model=MODEL, **query)
    _inert(page)
    assert not [url for url in gone if "evil.example" in url]
    for look in ("light", "dark"):
        page.emulate_media(color_scheme=look)
        settled(page)
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
