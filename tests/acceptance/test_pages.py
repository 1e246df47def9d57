"""The pages in a real browser, behind the real server, wide and narrow, light and dark."""

from __future__ import annotations

import re
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from monitor.reports.actions import acknowledge
from monitor.reports.alerts import finding
from tests.acceptance.pages import (
    LOOKS,
    Watched,
    background_is_dark,
    browser,
    clipped,
    grown,
    needs_chromium,
    pictures,
    served,
    settled,
    sticks_out,
    visit,
    words_missing,
)
from tests.dashboard_seed import MODEL, PROJECT, STALE_MODEL
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template

__all__ = ["browser", "database", "own_database", "pictures", "seeded_template"]

pytestmark = [pytest.mark.browser, needs_chromium]

ADDRESSES = {
    "overview": ("overview", {}),
    "model": ("model", {"model": MODEL}),
    "column": ("column", {"model": MODEL, "column": "distance"}),
    "odd-column": ("column", {"model": MODEL, "column": "price $ net $"}),
    # By rule and column: the number of an alert depends on the hour in which the rows are made.
    "alert": ("alert", {"alert": "deployment-contrast/distance"}),
    "incident": ("alert", {"alert": "drift-incident/distance"}),
    "model-without-numbers": ("model", {"model": STALE_MODEL}),
}
WORDS = {
    "overview": ("1 page", "5 blind spots", "Reduce traffic", "System health"),
    "model": (
        "Traffic and outcomes",
        "AUC by window",
        "Drift of all columns",
        "Calibration",
        "At most 1 false drift incident a month",
        "It does not hold for 2 of 9 columns",
        "Incident 2, led by distance",
    ),
    "column": (
        "Distribution against the baseline",
        "cells that moved most",
        "Missing values",
        "from what its hours should show, windows of a day",
    ),
    "odd-column": ("price $ net $", "cells that moved most"),
    "alert": ("stands apart: 0.500 psi", "Runbook", "Never under 10 % of the traffic", "HTTP 503"),
    "incident": (
        "Drift incident 2",
        "What else was seen",
        "Cells that moved most",
        "<img src=x onerror=alert(1)> **price** $x^2$",
        "New normal",
    ),
    "model-without-numbers": ("Too few rows for quality", "Drift could not be measured"),
}
CHARTS = {
    "overview": 0,
    "model": 6,
    "column": 4,
    "odd-column": 3,
    "alert": 1,
    "incident": 1,
    "model-without-numbers": 1,
}


@pytest.fixture(scope="module")
def server(database: SeededDatabase) -> Iterator[str]:
    with served(database.url) as address:
        yield address


@pytest.mark.parametrize("name", list(ADDRESSES))
def test_a_page_looks_right(
    server: str, database: SeededDatabase, browser: Browser, pictures: Path, name: str
):
    """Wide and narrow, light and dark: nothing sticks out, nothing complains, all words stand."""
    path, query = ADDRESSES[name]
    if "alert" in query:
        query = {"alert": str(database.seeded.alert_ids[query["alert"]])}
    context = browser.new_context(viewport={"width": 1440, "height": 900}, timezone_id="UTC")
    watched = Watched.open(context.new_page(), server)
    page = watched.page
    visit(page, server, path, **query)
    for width, scheme in LOOKS:
        page.emulate_media(color_scheme=scheme)
        grown(page, width)
        assert words_missing(page, WORDS[name]) == []
        page.screenshot(path=pictures / f"{name}-{width}-{scheme}.png")
        assert sticks_out(page) == 0
        assert clipped(page) == []
        assert background_is_dark(page) == (scheme == "dark")
    drawn = page.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg")
    assert drawn.count() == CHARTS[name]
    assert page.locator("[data-testid=stException]").count() == 0
    assert watched.problems == []
    context.close()


def test_every_chart_is_told_in_words_for_people_who_can_not_see_it(server: str, browser: Browser):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    visit(page, server, "model", model=MODEL)
    grown(page, 1440)
    labels = page.evaluate(
        "[...document.querySelectorAll('[data-testid=stVegaLiteChart]')].map(each =>"
        " (each.getAttribute('aria-label') || '') + [...each.querySelectorAll('[aria-label]')]"
        ".map(inner => inner.getAttribute('aria-label')).join(' '))"
    )
    assert len(labels) == 6
    told = " ".join(labels)
    assert "Requests a day by deployment" in told
    assert "AUC by window of the prediction" in told
    assert all(len(label) > 40 for label in labels)
    tables = page.get_by_text("The same as a table")
    assert tables.count() == 6
    context.close()


def test_the_way_from_the_overview_to_an_alert_and_its_column(
    server: str, database: SeededDatabase, browser: Browser
):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    watched = Watched.open(context.new_page(), server)
    page = watched.page
    visit(page, server, "overview")
    page.get_by_role("link", name="Open").first.click()
    page.get_by_text("Your turn").wait_for(timeout=20_000)
    settled(page)
    number = database.seeded.alert_ids["deployment-contrast/distance"]
    assert re.search(rf"\balert={number}\b", page.url)
    assert f"project={PROJECT}" in page.url
    page.get_by_role("link", name="Column distance").click()
    page.get_by_text("Distribution against the baseline").wait_for(timeout=20_000)
    settled(page)
    assert "column=distance" in page.url
    page.reload()
    page.get_by_text("Distribution against the baseline").wait_for(timeout=20_000)
    assert watched.problems == []
    context.close()


def test_a_viewer_in_tokyo_sees_days_of_tokyo(server: str, browser: Browser):
    context = browser.new_context(viewport={"width": 1440, "height": 900}, timezone_id="Asia/Tokyo")
    page = context.new_page()
    visit(page, server, "model", model=MODEL, **{"from": "2026-01-05", "to": "2026-01-06"})
    assert "Days (Asia/Tokyo)" in page.locator("[data-testid=stMain]").inner_text()
    dates = page.locator("[data-testid=stDateInput]").first.inner_text()
    assert "2026" in dates
    assert "01" in dates
    context.close()


HOSTILE = (
    "$x^2$ :smile: :material/home: :streamlit: :red[danger] **b** _i_ `c` ~~s~~ <b>b</b>"
    " <img src=x onerror=alert(1)> ![i](https://evil.example/a.png) [l](javascript:alert(1))"
    " https://evil.example www.evil.example eve@evil.example <- -> -- # h | a | b |"
)


def test_hostile_text_stays_text(own_database: SeededDatabase, browser: Browser):
    """A name somebody typed is shown exactly, as text, on every page that tells it."""
    number = own_database.seeded.alert_ids["deployment-contrast/distance"]
    by = HOSTILE[:190]
    own_database.ask(acknowledge, number, by, HOSTILE, own_database.now)
    assert own_database.ask(finding, number).acknowledged_by == by
    with served(own_database.url) as address:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        watched = Watched.open(context.new_page(), address)
        page = watched.page
        visit(page, address, "alert", alert=str(number))
        main = page.locator("[data-testid=stMain]")
        text = main.inner_text().replace("\u2060", "")
        assert HOSTILE in text
        assert f"Taken on by {by}" in text
        html = main.inner_html()
        for trace in ("katex", "evil.example/a.png\"", "href=\"https://evil", "href=\"mailto",
                      "href=\"javascript", "onerror"):  # fmt: skip
            assert trace not in html.replace("&lt;img src=x onerror=alert(1)&gt;", "")
        assert main.locator("img").count() == 0
        assert watched.problems == []
        context.close()


def test_the_server_sends_its_headers_and_no_stack_trace(server: str):
    with urllib.request.urlopen(f"{server}/") as answer:
        headers = {name.lower(): value for name, value in answer.headers.items()}
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1", 101), ("evil.example", 403)])
def test_only_its_own_names_reach_the_pages(server: str, host: str, status: int):
    """A foreign name that was made to point at this address gets no page content."""
    port = int(server.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(
            f"GET /_stcore/stream HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"Origin: http://{host}:{port}\r\n\r\n".encode()
        )
        assert connection.recv(100).split(b" ")[1] == str(status).encode()


def test_the_first_page_has_an_address_with_its_name_too(server: str):
    with urllib.request.urlopen(f"{server}/overview?project=x%20y") as answer:
        assert answer.url == f"{server}/?project=x%20y"
        assert answer.status == 200
