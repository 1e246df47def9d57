"""Signing in at a real provider over HTTP: who gets in, and each way of not getting in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from dashboards.session_book import COOKIE
from monitor.store.accounts import add_account, list_accounts
from monitor.store.engine import Role, transaction
from tests.conftest import opened
from tests.integration.access.provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    Claims,
    Provider,
    altered,
    running_provider,
    signed_by_a_stranger,
    signed_by_nobody,
    signed_by_the_shared_secret,
)
from tests.signed_in import Served, served


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running_provider() as made:
        yield made


@pytest.fixture(scope="module")
def server(module_database_url: str, provider: Provider) -> Iterator[Served]:
    with (
        opened(module_database_url) as engine,
        transaction(engine, None, Role.OWNER) as connection,
    ):
        add_account(connection, "ada@example.org", by="test", password="correct horse battery")
        add_account(connection, "root@example.org", by="test")
    settings = {
        "INFERWATCH_OIDC_ISSUER": provider.issuer,
        "INFERWATCH_OIDC_CLIENT_ID": CLIENT_ID,
        "INFERWATCH_OIDC_CLIENT_SECRET": CLIENT_SECRET,
    }
    with served(module_database_url, **settings) as address:
        yield address


@pytest.fixture(autouse=True)
def honest_again(provider: Provider) -> Iterator[None]:
    yield
    provider.change, provider.sign = (lambda claims: claims), None
    provider.refusals.clear()


@pytest.fixture
def browser(server: Served) -> Iterator[httpx.Client]:
    headers = {"Accept": "text/html"}
    with httpx.Client(base_url=str(server), headers=headers, follow_redirects=True) as client:
        yield client


def changed(**claims: object) -> Callable[[Claims], Claims]:
    """Claims with others in their place; None leaves one out."""

    def change(given: Claims) -> Claims:
        merged = {**given, **claims}
        return {name: value for name, value in merged.items() if value is not None}

    return change


def test_the_way_through_the_provider_leads_to_the_page(browser: httpx.Client) -> None:
    form = browser.get("/model?model=x")
    assert "organisation&#39;s page" in form.text
    assert 'name="password"' not in form.text
    done = browser.get("/oidc/start?next=%2Fmodel%3Fmodel%3Dx")
    assert done.status_code == 200
    assert done.url.raw_path == b"/model?model=x"
    (kept,) = [each for each in browser.cookies.jar if each.name == COOKIE]
    assert kept.has_nonstandard_attr("HttpOnly")


def test_a_password_is_not_taken_where_there_is_a_provider(browser: httpx.Client) -> None:
    form = {"login": "ada@example.org", "password": "correct horse battery"}
    assert browser.post("/login", data=form).status_code == 200
    assert COOKIE not in browser.cookies


NOW = int(time.time())


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": ["another", "third"]},
        {"aud": None},
        {"exp": NOW - 3_600, "iat": NOW - 7_200},
        {"exp": None},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"sub": None},
    ],
    ids=str,
)
def test_a_token_with_wrong_claims_is_refused(
    browser: httpx.Client, provider: Provider, claims: dict[str, object]
) -> None:
    provider.change = changed(**claims)
    refused(browser, browser.get("/oidc/start"))


@pytest.mark.parametrize(
    "sign", [signed_by_a_stranger, signed_by_the_shared_secret, signed_by_nobody, altered]
)
def test_a_token_with_a_wrong_signature_is_refused(
    browser: httpx.Client, provider: Provider, sign: Callable[[Provider, Claims], str]
) -> None:
    provider.sign = sign
    refused(browser, browser.get("/oidc/start"))


def refused(browser: httpx.Client, answer: httpx.Response) -> None:
    assert answer.status_code == 401
    assert "The provider&#39;s answer was refused" in answer.text
    assert COOKIE not in browser.cookies
    assert browser.get("/model").url.path == "/login"


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "99", "email": "eve@example.org"},
        {"sub": "99", "email": "root@example.org", "email_verified": False},
        {"sub": "99", "email": "root@example.org", "email_verified": "true"},
        {"sub": "99", "email": None},
        {"sub": "99", "email": "ada@example.org"},  # ada is number 17 and nobody else
    ],
    ids=str,
)
def test_who_has_no_account_is_told_so(
    browser: httpx.Client, provider: Provider, claims: dict[str, object]
) -> None:
    browser.get("/oidc/start")  # number 17 comes first
    browser.cookies.clear()
    provider.change = changed(**claims)
    answer = browser.get("/oidc/start")
    assert answer.status_code == 403
    assert "no account here" in answer.text
    assert COOKIE not in browser.cookies


def test_nobody_is_made_an_account_by_coming(
    browser: httpx.Client, provider: Provider, server: Served
) -> None:
    provider.change = changed(sub="5", email="new@example.org")
    browser.get("/oidc/start")
    with (
        opened(server.database_url) as engine,
        transaction(engine, None, Role.OWNER) as connection,
    ):
        known = {each["login"] for each in list_accounts(connection)}
    assert known == {"ada@example.org", "root@example.org"}


def test_an_answer_nobody_asked_for_is_refused(browser: httpx.Client) -> None:
    for query in ("", "?code=x&state=y", "?error=access_denied&error_description=<b>no</b>"):
        answer = browser.get(f"/oidc/back{query}")
        assert answer.status_code == 401
        assert "<b>no" not in answer.text


def test_another_browser_s_answer_is_refused(browser: httpx.Client, server: Served) -> None:
    """The code of an attacker, slipped to somebody who did not begin with it."""
    with httpx.Client(base_url=str(server)) as other:
        started = other.get("/oidc/start")
        back = other.get(started.headers["location"]).headers["location"]
    answer = browser.get(back)
    assert answer.status_code == 401
    assert COOKIE not in browser.cookies


def test_the_code_is_worth_nothing_without_its_verifier(
    browser: httpx.Client, provider: Provider
) -> None:
    started = browser.get("/oidc/start", follow_redirects=False)
    sent = httpx.URL(started.headers["location"]).params
    assert sent["code_challenge_method"] == "S256"
    assert sent["response_type"] == "code"
    back = browser.get(started.headers["location"], follow_redirects=False).headers["location"]
    code = httpx.URL(back).params["code"]
    form = {"code": code, "code_verifier": "guess", "grant_type": "authorization_code"}
    auth = (CLIENT_ID, CLIENT_SECRET)
    assert httpx.post(f"{provider.issuer}/token", data=form, auth=auth).status_code == 400
    assert provider.refusals == ["wrong verifier"]


def test_a_provider_of_another_name_is_not_used(
    module_database_url: str, provider: Provider
) -> None:
    settings = {
        "INFERWATCH_OIDC_ISSUER": f"{provider.issuer}/tenant",
        "INFERWATCH_OIDC_CLIENT_ID": CLIENT_ID,
        "INFERWATCH_OIDC_CLIENT_SECRET": CLIENT_SECRET,
    }
    with served(module_database_url, **settings) as address:
        answer = httpx.get(f"{address}/oidc/start")
    assert answer.status_code == 502
    assert "The provider can&#39;t be reached" in answer.text
