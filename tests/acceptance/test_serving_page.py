"""The page Serving in a real browser: wide and narrow, nothing asked from outside, no error."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from tests.acceptance.pages import browser, needs_chromium, settled, words_missing
from tests.factories import START, TestClock
from tests.integration.jobs.support import HOUR
from tests.integration.served_chat import HOSTILE, apply_served, send_day
from tests.signed_in import served, signed_in

__all__ = ["browser"]
pytestmark = [pytest.mark.browser, needs_chromium]
WORDS = (
    "How requests ended", "Reasons given", "How long it took", "Which stage to shorten",
    "On average model costs most", "For slow requests it is retrieval",
)  # fmt: skip


def test_the_page_shows_operation_and_stages_and_runs_no_text_from_outside(
    store: IntakeStore, engine: Engine, runner: Runner, project_id: int, clock: TestClock,
    database_url: str, browser: Browser,
) -> None:  # fmt: skip
    send_day(store, apply_served(engine, project_id))
    clock.now = START + 40 * HOUR
    runner.catch_up()
    folder = Path(os.environ.get("PAGE_PICTURES") or tempfile.mkdtemp(prefix="inferwatch-pages-"))
    folder.mkdir(parents=True, exist_ok=True)
    with served(database_url) as server:
        for name, width in (("wide", 1280), ("narrow", 390)):
            context = signed_in(browser, server, viewport={"width": width, "height": 3000})
            page = context.new_page()
            errors: list[str] = []
            page.on("pageerror", lambda error, kept=errors: kept.append(str(error)))
            page.on("dialog", lambda dialog, kept=errors: kept.append(dialog.message))
            page.goto(f"{server}/serving?model=credit&from=2024-05-01&to=2024-05-01")
            page.locator("h1").first.wait_for(timeout=30_000)
            settled(page)
            assert words_missing(page, WORDS) == []
            page.get_by_text("Reasons given").click()
            settled(page)
            page.screenshot(path=folder / f"serving-{name}.png", full_page=True)
            scrolled = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
            assert not scrolled, f"the {name} page scrolls sideways"
            assert errors == []
            assert HOSTILE not in page.title()
            context.close()
