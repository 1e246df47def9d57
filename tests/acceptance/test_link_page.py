"""The page of a signed link in a real browser: by mouse, by keyboard, on a phone, in the dark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from alerts.links import LinkDeed
from tests.integration.collector.alert_world import AlertWorld, alert_world
from tests.integration.collector.test_link_pages import alert_of, link_to
from tests.seeded_database import SeededDatabase, own_database, seeded_template

__all__ = ["own_database", "seeded_template"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium here: apt-get install chromium to run this test"
    ),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture
def world(own_database: SeededDatabase) -> Iterator[AlertWorld]:
    with alert_world(own_database) as made:
        yield made


def opened(
    browser: Browser, world: AlertWorld, path: str, width: int, scheme: str
) -> tuple[Page, list[str]]:
    """The page, and what the browser complained about or asked elsewhere."""
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    page, problems = context.new_page(), []
    address = str(world.client.base_url).rstrip("/")
    page.on("console", lambda each: problems.append(each.text))
    page.on("pageerror", lambda each: problems.append(str(each)))
    page.on("request", lambda each: problems.append(each.url) if address not in each.url else None)
    page.goto(address + path)
    return page, problems


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_one_click_takes_the_alert_on(
    browser: Browser, world: AlertWorld, width: int, scheme: str
) -> None:
    page, problems = opened(browser, world, link_to(world), width, scheme)
    assert page.get_by_role("button").count() == 1
    page.get_by_label("Your name").fill("Ada Lovelace")
    page.get_by_role("button", name="Acknowledge").click()
    page.get_by_role("heading", name="Taken on by Ada Lovelace").wait_for(timeout=10_000)
    assert alert_of(world).acknowledged_by == "Ada Lovelace"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert problems == []
    page.context.close()


def test_the_keyboard_alone_is_enough(browser: Browser, world: AlertWorld) -> None:
    page, _ = opened(browser, world, link_to(world), 1440, "light")
    for _press in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "by":
            break
    page.keyboard.type("Grace")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Taken on by Grace").wait_for(timeout=10_000)
    assert alert_of(world).acknowledged_by == "Grace"
    page.context.close()


def test_the_browser_itself_asks_for_what_is_missing(browser: Browser, world: AlertWorld) -> None:
    page, problems = opened(browser, world, link_to(world, LinkDeed.SILENCE), 390, "light")
    page.get_by_role("button", name="Silence").click()
    assert page.evaluate("document.activeElement.id") == "by"
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("For how long").select_option(label="24 hours")
    page.get_by_label("Reason").fill("planned work")
    page.get_by_role("button", name="Silence").click()
    page.get_by_role("heading", name="Silenced").wait_for(timeout=10_000)
    assert [each.author for each in alert_of(world).silences] == ["Ada"]
    assert problems == []
    page.context.close()


def test_no_script_and_no_style_of_a_stranger_runs_there(
    browser: Browser, world: AlertWorld
) -> None:
    """Even if a text were written into the page unescaped, the policy would stop it."""
    page, problems = opened(browser, world, link_to(world), 1440, "light")
    page.evaluate(
        "(() => { const image = document.createElement('img'); image.src = '/healthz';"
        " document.body.append(image); const style = document.createElement('style');"
        " style.textContent = 'body{display:none}'; document.head.append(style) })()"
    )
    page.wait_for_timeout(300)
    assert page.get_by_role("button", name="Acknowledge").is_visible()
    assert sum("Content Security Policy" in each for each in problems) == 2
    page.context.close()
