"""From the link of an alert to its cause, its segment, taking it on and the response."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser, Page, expect

from monitor.reports.alert_detail import alert_detail
from monitor.reports.alerts import finding
from monitor.store.engine import Role, transaction
from monitor.store.tables import measurement, segment
from tests.acceptance.pages import (
    browser,
    needs_chromium,
    settled,
    visit,
)
from tests.seeded_database import SeededDatabase, own_database, seeded_template
from tests.signed_in import Served, served, signed_in

__all__ = ["browser", "own_database", "seeded_template"]
pytestmark = [pytest.mark.browser, needs_chromium]

ALERT = "deployment-contrast/distance"
MOST_TABS = 120


def _with_segment(copy: SeededDatabase) -> str:
    """One segment of the judged window; the address part of the alert's link."""
    seeded = copy.seeded
    found = copy.ask(finding, seeded.alert_ids[ALERT])
    with transaction(copy.engine, seeded.project_id, Role.OWNER) as connection:
        number = connection.scalar(
            sa.insert(segment)
            .values(project_id=seeded.project_id, model_id=seeded.model_id,
                    definition={"carrier": "UA"})
            .returning(segment.c.id)
        )  # fmt: skip
        row = connection.execute(
            sa.select(measurement).where(
                measurement.c.check_name == "contrast",
                measurement.c.column_name == "distance",
                measurement.c.window_end == found.judged.at,
            )
        ).first()
        values = {**row._mapping, "segment_id": number, "value": 0.9}
        del values["id"]
        connection.execute(sa.insert(measurement).values(values))
    return found.fingerprint


BY = "admin@example.org"
TAKEN = "Taken on by admin"


@contextmanager
def opened(browser: Browser, place: SeededDatabase) -> Iterator[tuple[Page, Served]]:
    """A page of somebody who is signed in."""
    with served(place.url) as server:
        context = signed_in(browser, server, viewport={"width": 1440, "height": 1000})
        context.set_default_timeout(60_000)
        yield context.new_page(), server
        context.close()


def test_by_mouse(own_database: SeededDatabase, browser: Browser):
    fingerprint = _with_segment(own_database)
    with opened(browser, own_database) as (page, server):
        visit(page, server, "alert", fingerprint=fingerprint)
        expect(page.get_by_role("heading", name="What changed")).to_be_visible(timeout=60_000)
        page.get_by_role("link", name="Look at carrier=UA").click()
        page.wait_for_url("**/column?**segment=carrier%3DUA**", timeout=60_000)
        visit(page, server, "alert", fingerprint=fingerprint)
        page.get_by_role("button", name="Acknowledge").click()
        expect(page.get_by_text(TAKEN)).to_be_visible(timeout=60_000)
        page.get_by_text("Respond", exact=True).click()
        page.get_by_role("button", name="Respond").click()
        settled(page)
    _was_done(own_database, BY)


def test_by_keyboard_alone(own_database: SeededDatabase, browser: Browser):
    fingerprint = _with_segment(own_database)
    with opened(browser, own_database) as (page, server):
        visit(page, server, "alert", fingerprint=fingerprint)
        _tab_to(page, "Look at carrier=UA")
        page.keyboard.press("Enter")
        page.wait_for_url("**/column?**segment=carrier%3DUA**", timeout=60_000)
        visit(page, server, "alert", fingerprint=fingerprint)
        _tab_to(page, "Acknowledge")
        page.keyboard.press("Enter")
        expect(page.get_by_text(TAKEN)).to_be_visible(timeout=60_000)
        settled(page)
        visit(page, server, "alert", fingerprint=fingerprint)
        _choose(page, "Respond")
        _tab_to(page, "Respond")
        page.keyboard.press("Enter")
        settled(page)
    _was_done(own_database, BY)


def _was_done(copy: SeededDatabase, by: str) -> None:
    detail = copy.ask(alert_detail, copy.seeded.alert_ids[ALERT])
    assert detail.finding.acknowledged_by == by
    assert [each.requested_by for each in detail.actions] == [by]


FOCUSED = (
    "(() => { const it = document.activeElement;"
    " const said = it.getAttribute('aria-label') || it.innerText || it.value || '';"
    " return it.tagName + '|' + (it.type || '') + '|' + said.trim() })()"
)


def _tab_to(page: Page, name: str) -> None:
    """Press Tab until the link, button or field of this name has the focus, and can be seen."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        tag, kind, said = page.evaluate(FOCUSED).split("|", 2)
        if kind != "radio" and tag in ("A", "BUTTON", "INPUT") and name in said:
            assert _focus_is_visible(page)
            return
    pytest.fail(f"{name} was not reached in {MOST_TABS} presses of Tab")


def _focus_is_visible(page: Page) -> bool:
    return page.evaluate("document.activeElement.matches(':focus-visible')")


def _choose(page: Page, name: str) -> None:
    """The radio buttons are one stop of Tab; arrows choose among them."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type === 'radio'"):
            break
    for _ in range(8):
        chosen = page.evaluate("document.activeElement.closest('label').innerText.trim()")
        if chosen == name:
            settled(page)
            return
        page.keyboard.press("ArrowRight")
    pytest.fail(f"{name} could not be chosen")
