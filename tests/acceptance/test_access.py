"""Signing in with a real browser, from the first link to the end of a session; what roles see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser

from dashboards.registry import PAGES
from dashboards.session_book import COOKIE
from monitor.access import RIGHTS, AccessRole
from monitor.reports.alerts import finding
from monitor.store.accounts import account_number, grant_role, list_accounts
from monitor.store.engine import Role, transaction
from monitor.store.one_time_links import first_link
from monitor.store.sessions import revoke_sessions
from tests.acceptance.pages import Watched, axe_violations, browser, needs_chromium, settled
from tests.dashboard_seed import EMPTY_PROJECT, PROJECT
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template
from tests.signed_in import Served, served, signed_in

__all__ = ["browser", "database", "own_database", "seeded_template"]

pytestmark = [pytest.mark.browser, needs_chromium]
WAIT = 30_000
PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def server(database: SeededDatabase) -> Iterator[Served]:
    with served(database.url) as address:
        yield address


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_from_the_first_link_to_the_end(
    own_database: SeededDatabase, browser: Browser, width: int, scheme: str
) -> None:
    """First link → account → page → sign out → refused; then in again with the password."""
    with served(own_database.url) as address:
        with transaction(own_database.engine, None, Role.OWNER) as connection:
            link = first_link(connection, address, "test", datetime.now(UTC))
        assert link is not None
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        watched = Watched.open(context.new_page(), address)
        page = watched.page
        page.goto(link)
        page.get_by_role("heading", name="Make the first account").wait_for(timeout=WAIT)
        page.get_by_label("Login").fill("Ada")
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_label("New password").press("Enter")
        page.get_by_text("Signed in as").wait_for(timeout=WAIT)
        settled(page)
        with transaction(own_database.engine, None, Role.OWNER) as connection:
            (made,) = list_accounts(connection)
        assert (made["login"], made["everywhere"]) == ("ada", "admin")
        assert page.evaluate("document.cookie").find(COOKIE) == -1
        with context.expect_page() as opened:
            page.get_by_role("link", name="Sign out").click()
        leaving = opened.value
        leaving.get_by_role("button", name="Sign out").click()
        leaving.get_by_role("heading", name="Sign in to Inferwatch").wait_for(timeout=WAIT)
        assert watched.problems == []
        page.reload()
        page.get_by_role("heading", name="Sign in to Inferwatch").wait_for(timeout=WAIT)
        page.goto(f"{address}/model?project={PROJECT}")
        assert page.url.startswith(f"{address}/login?next=")
        page.get_by_label("Login").fill("ada")
        page.get_by_label("Password").fill("wrong wrong wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("alert").get_by_text("Login or password is wrong").wait_for(timeout=WAIT)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_label("Password").press("Enter")
        page.get_by_text("Traffic and outcomes").wait_for(timeout=WAIT)
        assert re.search(rf"/model\?project={PROJECT}", page.url)
        page.goto(link)
        page.get_by_role("heading", name="This link does not hold any more").wait_for(timeout=WAIT)
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/login", "/logout", "/link/x"])
def test_the_pages_before_the_gate_are_for_everybody(
    server: Served, browser: Browser, path: str, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 700},
        color_scheme=scheme,  # type: ignore[arg-type]
        bypass_csp=True,
    )
    page = context.new_page()
    page.goto(f"{server}{path}")
    assert axe_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    context.close()


def test_a_revoked_session_loses_its_page_within_seconds(
    server: Served, database: SeededDatabase, browser: Browser
) -> None:
    context = signed_in(browser, server, AccessRole.VIEWER)
    page = context.new_page()
    sockets: list[str] = []
    page.on("websocket", lambda each: each.on("close", lambda _: sockets.append("closed")))
    page.goto(f"{server}/?project={PROJECT}")
    page.get_by_text("Signed in as").wait_for(timeout=WAIT)
    settled(page)
    assert sockets == []
    with transaction(database.engine, None, Role.OWNER) as connection:
        number = account_number(connection, "viewer@example.org")
        revoke_sessions(connection, number, "test", datetime.now(UTC))
    for _ in range(300):
        if sockets:
            break
        page.wait_for_timeout(100)
    assert sockets
    page.reload()
    page.get_by_role("heading", name="Sign in to Inferwatch").wait_for(timeout=WAIT)
    context.close()


@pytest.mark.parametrize("role", list(AccessRole))
def test_a_role_sees_its_pages_and_no_other(
    server: Served, browser: Browser, role: AccessRole
) -> None:
    context = signed_in(browser, server, role, viewport={"width": 1600, "height": 900})
    page = context.new_page()
    page.goto(f"{server}/?project={PROJECT}")
    page.get_by_text("Signed in as").wait_for(timeout=WAIT)
    settled(page)
    shown = set(page.get_by_test_id("stTopNavLink").all_inner_texts())
    allowed = {each.title for each in PAGES if each.right in RIGHTS[role]}
    assert {each.rpartition("\n")[2] for each in shown} == allowed
    for denied in (each for each in PAGES if each.right not in RIGHTS[role]):
        page.goto(f"{server}/{denied.url_path}?project={PROJECT}")
        page.get_by_text("This page is not open to you").wait_for(timeout=WAIT)
        settled(page)
        main = page.get_by_test_id("stMain").inner_text()
        assert f"The role {role} in {PROJECT} does not allow to {denied.right}." in main
        assert "flight-delay" not in main
    context.close()


def test_a_deed_takes_the_name_of_who_is_signed_in(
    own_database: SeededDatabase, browser: Browser
) -> None:
    number = own_database.seeded.alert_ids["deployment-contrast/distance"]
    with served(own_database.url) as address:
        context = signed_in(browser, address, AccessRole.ON_CALL)
        page = context.new_page()
        page.goto(f"{address}/alert?project={PROJECT}&alert={number}")
        page.get_by_text("Your turn").wait_for(timeout=WAIT)
        settled(page)
        assert page.get_by_label("Your name").count() == 0
        page.get_by_role("button", name="Acknowledge").click()
        page.get_by_text("Acknowledged.").wait_for(timeout=WAIT)
        context.close()
    assert own_database.ask(finding, number).acknowledged_by == "on-call@example.org"


def test_a_role_that_was_taken_away_is_refused_at_the_deed_itself(
    own_database: SeededDatabase, browser: Browser
) -> None:
    """The form stands in the browser still; the server asks anew."""
    number = own_database.seeded.alert_ids["deployment-contrast/distance"]
    with served(own_database.url) as address:
        context = signed_in(browser, address, AccessRole.ENGINEER)
        page = context.new_page()
        page.goto(f"{address}/alert?project={PROJECT}&alert={number}")
        page.get_by_text("Your turn").wait_for(timeout=WAIT)
        settled(page)
        with transaction(own_database.engine, None, Role.OWNER) as connection:
            engineer = account_number(connection, "engineer@example.org")
            project_id = own_database.seeded.project_id
            grant_role(connection, engineer, project_id, AccessRole.VIEWER, "test")
        page.get_by_role("button", name="Acknowledge").click()
        page.get_by_text("does not allow to act on alerts").wait_for(timeout=WAIT)
        settled(page)
        assert page.get_by_role("button", name="Acknowledge").count() == 0
        context.close()
    assert own_database.ask(finding, number).acknowledged_by is None


def test_who_has_no_role_in_a_project_does_not_learn_of_it(
    own_database: SeededDatabase, browser: Browser
) -> None:
    with served(own_database.url) as address:
        context = signed_in(browser, address, AccessRole.VIEWER)
        with transaction(own_database.engine, None, Role.OWNER) as connection:
            from monitor.store.access_tables import account
            from monitor.store.projects import project_number

            viewer = account_number(connection, "viewer@example.org")
            connection.execute(account.update().values(everywhere=None))
            empty = project_number(connection, EMPTY_PROJECT)
            grant_role(connection, viewer, empty, AccessRole.VIEWER, "test")
        page = context.new_page()
        page.goto(f"{address}/?project={PROJECT}")
        page.get_by_text("There is no such project").wait_for(timeout=WAIT)
        settled(page)
        text = page.get_by_test_id("stMain").inner_text()
        assert f"{PROJECT} is not a project here that is open to you" in text
        assert "flight-delay" not in text
        context.close()
