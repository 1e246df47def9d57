"""The gate before a running dashboard: what strangers get, forms, cookies, sockets, headers."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from dashboards.session_book import COOKIE, SAFE_COOKIE
from monitor.store.accounts import account_number, add_account
from monitor.store.engine import Role, transaction
from monitor.store.login_attempts import MOST_OF_ONE_AT_ONE
from monitor.store.one_time_links import make_link
from monitor.store.sessions import revoke_sessions
from tests.conftest import opened
from tests.signed_in import Served, new_session, served, session_cookie

PASSWORD = "correct horse battery"
ENDED_SECONDS = 30
"""It takes about two; slow machines get more."""
LIST_ROUTES = """
import json
from dashboards.server import make_pages
def listed(routes, above=""):
    for route in routes:
        path = above + getattr(route, "path", "")
        if getattr(route, "routes", None):
            yield from listed(route.routes, path)
        else:
            kind = type(route).__name__
            yield kind, path, sorted(getattr(route, "methods", None) or ["GET"])
print(json.dumps(list(listed(make_pages()._build_starlette_app().routes))))
"""


@pytest.fixture(scope="module")
def server(module_database_url: str) -> Iterator[Served]:
    with served(module_database_url) as address:
        yield address


@pytest.fixture(scope="module")
def routes() -> list[tuple[str, str, list[str]]]:
    """Every route of the application that stands behind the gate, asked of itself."""
    done = subprocess.run(
        [sys.executable, "-c", LIST_ROUTES], capture_output=True, text=True, check=True
    )
    return [tuple(each) for each in json.loads(done.stdout.splitlines()[-1])]


@pytest.fixture
def stranger(server: Served) -> Iterator[httpx.Client]:
    """A browser without a session."""
    with httpx.Client(base_url=str(server), headers={"Accept": "text/html"}) as client:
        yield client


@pytest.fixture
def login(server: Served) -> str:
    """A login of this test's own, with PASSWORD."""
    name = f"person-{secrets.token_hex(8)}"
    with opened(server.database_url) as engine, transaction(engine, None, Role.OWNER) as connection:
        add_account(connection, name, by="test", password=PASSWORD)
    return name


def filled(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "x", path) or "/"


def mark_of(client: httpx.Client, path: str = "/login") -> str:
    found = re.search(r'name="mark" value="([^"]+)"', client.get(path).text)
    assert found is not None
    return found[1]


def send_login(client: httpx.Client, login: str, password: str, **fields: str) -> httpx.Response:
    form = {"login": login, "password": password, "mark": mark_of(client), **fields}
    return client.post("/login", data=form)


def test_the_routes_behind_the_gate_are_found(routes: list[tuple[str, str, list[str]]]) -> None:
    paths = {path for _, path, _ in routes}
    assert {"/_stcore/health", "/_stcore/stream", "/_stcore/host-config"} <= paths
    assert any("upload" in path for path in paths)
    assert any("media" in path for path in paths)
    assert len(paths) >= 12


def test_no_route_answers_a_stranger(
    server: Served, routes: list[tuple[str, str, list[str]]]
) -> None:
    with httpx.Client(base_url=str(server)) as client:
        for kind, path, methods in routes:
            if kind == "WebSocketRoute":
                continue
            for method in {*methods, "POST", "PUT", "DELETE", "OPTIONS"}:
                for cookie in (None, f"{COOKIE}=nonsense", f'{COOKIE}="', "=;;"):
                    headers = {"Cookie": cookie} if cookie else {}
                    answer = client.request(method, filled(path), headers=headers)
                    assert answer.status_code == 401, (method, path, cookie)
                    assert answer.text in ("Sign in first.\n", ""), (method, path)


@pytest.mark.parametrize(
    "path",
    ["/", "/model", "/static/x.js", "/favicon.png", "/nothing", "//_stcore/health", "/login/",
     "/login/../_stcore/health", "/link/x/../../_stcore/health", "/healthz/", "/oidc/start"],
)  # fmt: skip
def test_no_other_path_does_either(server: Served, path: str) -> None:
    port = int(server.rpartition(":")[2])
    connection = httpx.Client()
    request = connection.build_request("GET", str(server))
    request.url = httpx.URL(scheme="http", host="127.0.0.1", port=port, raw_path=path.encode())
    answer = connection.send(request)
    assert answer.status_code in (401, 404, 410)
    assert "streamlit" not in answer.text.lower()
    connection.close()


def test_the_same_routes_answer_who_is_signed_in(
    server: Served, routes: list[tuple[str, str, list[str]]]
) -> None:
    headers = {"Cookie": session_cookie(server)}
    with httpx.Client(base_url=str(server), headers=headers) as client:
        for kind, path, methods in routes:
            if kind != "WebSocketRoute" and "GET" in methods:
                assert client.get(filled(path)).status_code != 401, path
        assert client.get("/").status_code == 200
        assert client.get("/_stcore/health").status_code == 200


def test_health_tells_nothing_but_that_it_lives(stranger: httpx.Client) -> None:
    answer = stranger.get("/healthz")
    assert (answer.status_code, answer.text) == (200, "ok\n")
    assert "server" not in answer.headers


def test_a_deep_link_leads_through_the_form_to_its_page(stranger: httpx.Client, login: str) -> None:
    sent = stranger.get("/model?model=a%20b&project=x")
    assert sent.status_code == 303
    assert sent.headers["location"] == "/login?next=%2Fmodel%3Fmodel%3Da%2520b%26project%3Dx"
    form = stranger.get(sent.headers["location"]).text
    wanted = re.search(r'name="next" value="([^"]+)"', form)
    assert wanted is not None
    assert wanted[1] == "/model?model=a%20b&amp;project=x"
    done = send_login(stranger, login, PASSWORD, next="/model?model=a%20b&project=x")
    assert done.status_code == 303
    assert done.headers["location"] == "/model?model=a%20b&project=x"
    assert stranger.get(done.headers["location"]).status_code == 200


@pytest.mark.parametrize(
    "wanted",
    ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "",
     "/\t/evil.example", "/a\r\nSet-Cookie: x=y", "/logout", "/link/x", "/é"],
)  # fmt: skip
def test_nobody_is_led_elsewhere(stranger: httpx.Client, login: str, wanted: str) -> None:
    done = send_login(stranger, login, PASSWORD, next=wanted)
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert "x=y" not in str(done.headers)


def test_the_cookie_is_for_the_server_alone(stranger: httpx.Client, login: str) -> None:
    done = send_login(stranger, login, PASSWORD)
    (made,) = [each for each in done.headers.get_list("set-cookie") if each.startswith(COOKIE)]
    parts = {part.strip().lower() for part in made.split(";")}
    assert {"httponly", "samesite=lax", "path=/"} <= parts
    assert "secure" not in parts


def test_behind_https_it_is_secure_and_bound_to_the_host(module_database_url: str) -> None:
    login = "https-person"
    with opened(module_database_url) as engine, transaction(engine, None, Role.OWNER) as connection:
        add_account(connection, login, by="test", password=PASSWORD)
    public = {"INFERWATCH_PUBLIC_URL": "https://watch.example.org"}
    with served(module_database_url, **public) as address, httpx.Client(base_url=address) as client:
        page = client.get("/login")
        mark = re.search(r'name="mark" value="([^"]+)"', page.text)
        assert mark is not None
        done = client.post(
            "/login",
            data={"login": login, "password": PASSWORD, "mark": mark[1]},
            # httpx keeps a secure cookie for https alone; a proxy that ends TLS passes it on.
            headers={"Cookie": f"inferwatch_form={mark[1]}"},
        )
        (made,) = [each for each in done.headers.get_list("set-cookie") if SAFE_COOKIE in each]
        assert "; secure" in made.lower()
        token = made.partition("=")[2].partition(";")[0]
        for name, status in ((SAFE_COOKIE, 200), (COOKIE, 401)):
            assert client.get("/", headers={"Cookie": f"{name}={token}"}).status_code == status


def test_a_form_needs_its_own_mark(stranger: httpx.Client, login: str) -> None:
    form = {"login": login, "password": PASSWORD}
    mark = mark_of(stranger)
    for wrong in ({}, {"mark": ""}, {"mark": mark + "x"}, {"mark": "é"}):
        answer = stranger.post("/login", data={**form, **wrong})
        assert answer.status_code == 400
        assert COOKIE not in stranger.cookies
    with httpx.Client(base_url=stranger.base_url) as other:
        assert other.post("/login", data={**form, "mark": mark}).status_code == 400


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
     {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}, {"Content-Type": "text/plain"}],
)  # fmt: skip
def test_a_form_of_another_site_is_refused(
    stranger: httpx.Client, login: str, headers: dict[str, str]
) -> None:
    form = {"login": login, "password": PASSWORD, "mark": mark_of(stranger)}
    assert stranger.post("/login", data=form, headers=headers).status_code == 400
    assert COOKIE not in stranger.cookies


def test_a_form_that_is_too_large_or_unreadable_is_refused(stranger: httpx.Client) -> None:
    form_type = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (b"login=" + b"a" * 20_000, b"\xff\xfe", b"&".join([b"a=1"] * 20)):
        answer = stranger.post("/login", content=body, headers=form_type)
        assert answer.status_code == 400


def test_wrong_and_unknown_are_told_alike_and_text_stays_text(
    stranger: httpx.Client, login: str
) -> None:
    hostile = "<script>alert(1)</script>\"'"
    known, unknown = (send_login(stranger, name, "wrong") for name in (login, hostile))
    assert known.status_code == unknown.status_code == 401
    assert "Login or password is wrong." in known.text
    assert "<script>" not in unknown.text
    told = [
        re.sub(r'value="[^"]*"', "", answer.text) for answer in (known, unknown)
    ]  # what was typed and the mark
    assert told[0] == told[1]


def test_too_many_failures_are_told(stranger: httpx.Client, login: str) -> None:
    for _ in range(MOST_OF_ONE_AT_ONE):
        assert send_login(stranger, login, "wrong").status_code == 401
    answer = send_login(stranger, login, PASSWORD)
    assert answer.status_code == 429
    assert "Try again in 15 minutes" in answer.text


def test_signing_out_ends_the_session_for_good(stranger: httpx.Client, login: str) -> None:
    send_login(stranger, login, PASSWORD)
    kept = stranger.cookies[COOKIE]
    assert stranger.get("/").status_code == 200
    assert stranger.post("/logout", data={"mark": "x"}).status_code == 400
    assert stranger.get("/").status_code == 200
    done = stranger.post("/logout", data={"mark": mark_of(stranger, "/logout")})
    assert (done.status_code, done.headers["location"]) == (303, "/login")
    assert COOKIE not in stranger.cookies
    assert stranger.get("/", headers={"Cookie": f"{COOKIE}={kept}"}).status_code == 303


def test_signing_in_anew_ends_the_browser_s_session_before(
    stranger: httpx.Client, login: str
) -> None:
    send_login(stranger, login, PASSWORD)
    before = stranger.cookies[COOKIE]
    send_login(stranger, login, PASSWORD)
    assert stranger.cookies[COOKIE] != before
    assert stranger.get("/").status_code == 200
    assert httpx.get(f"{stranger.base_url}", headers={"Cookie": f"{COOKIE}={before}"}).is_error


def test_a_one_time_link_asks_first_and_works_once(
    server: Served, stranger: httpx.Client, login: str
) -> None:
    with opened(server.database_url) as engine, transaction(engine, None, Role.OWNER) as connection:
        number = account_number(connection, login)
        path = f"/link/{make_link(connection, number, 'test', datetime.now(UTC))}"
    for _ in range(2):  # a preview of the link uses nothing up
        assert f"Sign in as {login}" in stranger.get(path).text
    form = {"password": "short", "mark": mark_of(stranger, path)}
    refused = stranger.post(path, data=form)
    assert refused.status_code == 400
    assert "a password has 12 to 256 characters, this one 5" in refused.text
    done = stranger.post(path, data={**form, "password": ""})
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert stranger.get("/").status_code == 200
    assert stranger.get(path).status_code == 410
    assert stranger.post(path, data=form).status_code == 410


def socket_of(server: Served, cookie: str | None, origin: str | None) -> ClientConnection:
    headers = {"Cookie": cookie} if cookie else {}
    address = f"{server.replace('http', 'ws', 1)}/_stcore/stream"
    return connect(
        address, origin=origin, additional_headers=headers, subprotocols=["streamlit"],
        open_timeout=30, proxy=None,
    )  # type: ignore[arg-type]  # fmt: skip


def read_to_the_end(socket: ClientConnection) -> None:
    """Take whatever comes, until ConnectionClosed."""
    while True:
        socket.recv(timeout=ENDED_SECONDS)


@pytest.mark.parametrize("origin", [None, "https://evil.example", "null", "http://127.0.0.1:1"])
def test_a_socket_needs_our_own_origin(server: Served, origin: str | None) -> None:
    with pytest.raises(InvalidStatus) as caught:
        socket_of(server, session_cookie(server), origin)
    assert caught.value.response.status_code == 403


@pytest.mark.parametrize("cookie", [None, f"{COOKIE}=nonsense"])
def test_a_socket_needs_a_session(server: Served, cookie: str | None) -> None:
    with pytest.raises(InvalidStatus) as caught:
        socket_of(server, cookie, str(server))
    assert caught.value.response.status_code == 403


def test_a_socket_ends_within_seconds_of_its_session(server: Served) -> None:
    """Also one that says nothing: the gate looks by itself."""
    token = new_session(server.database_url)
    with socket_of(server, f"{COOKIE}={token}", str(server)) as socket:
        assert socket.subprotocol == "streamlit"
        with (
            opened(server.database_url) as engine,
            transaction(engine, None, Role.OWNER) as connection,
        ):
            number = account_number(connection, "admin@example.org")
            assert revoke_sessions(connection, number, "test", datetime.now(UTC)) >= 1
        revoked = time.monotonic()
        with pytest.raises(ConnectionClosed) as caught:
            read_to_the_end(socket)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1008
    assert time.monotonic() - revoked < ENDED_SECONDS


def test_a_post_by_another_site_is_refused_even_with_the_cookie(server: Served) -> None:
    headers = {"Cookie": session_cookie(server), "Origin": "https://evil.example"}
    answer = httpx.post(f"{server}/_stcore/script-health-check", headers=headers)
    assert (answer.status_code, "another site" in answer.text) == (403, True)


@pytest.mark.parametrize("path", ["/login", "/", "/link/x", "/healthz", "/model"])
def test_headers_of_every_answer(server: Served, path: str) -> None:
    headers = {"Cookie": session_cookie(server)} if path in ("/", "/model") else {}
    told = httpx.get(f"{server}{path}", headers=headers).headers
    policies = told.get_list("content-security-policy")
    assert len(policies) == 1
    assert "frame-ancestors 'none'" in policies[0]
    assert "unsafe-eval" not in policies[0]
    assert "unsafe-inline" not in policies[0] or path in ("/", "/model", "/healthz")
    assert told.get_list("x-content-type-options") == ["nosniff"]
    assert told.get_list("referrer-policy") == ["same-origin"]
    assert told.get_list("cache-control") == ["no-store"]


def test_a_dashboard_without_sign_in_listens_on_loopback_only(module_database_url: str) -> None:
    environment = {**os.environ, "DATABASE_URL": module_database_url,
                   "INFERWATCH_DASHBOARD_AUTH": "off"}  # fmt: skip
    for program in (["dashboards.server"], ["monitor", "dashboard"]):
        done = subprocess.run(
            [sys.executable, "-m", *program, "--host", "0.0.0.0", "--port", "1"],
            env=environment, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "INFERWATCH_DASHBOARD_AUTH: off is for loopback only" in done.stderr


def test_on_loopback_it_may_be_switched_off(module_database_url: str) -> None:
    with served(module_database_url, INFERWATCH_DASHBOARD_AUTH="off") as address:
        assert httpx.get(f"{address}/").status_code == 200
