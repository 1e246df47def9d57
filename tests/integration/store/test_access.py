"""Accounts, sessions, one-time links and throttling on a real database, with the gate's rights."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.access import RIGHTS, AccessRole, Right
from monitor.errors import ConfigurationError, NotAllowed, UnknownSubject
from monitor.reports.access import (
    link_of,
    person_of,
    required_person,
    sign_in,
    sign_in_by_link,
    sign_in_by_provider,
    sign_out,
)
from monitor.store.access_tables import account, login_attempt, one_time_link, session
from monitor.store.accounts import (
    account_number,
    add_account,
    disable_account,
    grant_role,
    list_accounts,
    set_password,
)
from monitor.store.engine import Role, transaction
from monitor.store.login_attempts import MOST_AT_ONE, MOST_OF_ONE_AT_ONE, PERIOD, book_attempt
from monitor.store.one_time_links import GOOD_FOR, first_link, make_link
from monitor.store.passwords import MIN_LENGTH, hashed, matches
from monitor.store.sessions import IDLE, LONGEST, SEEN_EVERY, list_sessions, revoke_sessions

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
PASSWORD, HERE = "correct horse battery", "192.0.2.1"
ISSUER = "https://login.example.org"


def owner(engine: Engine, deed: Callable[..., object], *arguments: object, **named: object):
    """A deed of whoever runs the installation."""
    with transaction(engine, None, Role.OWNER) as connection:
        return deed(connection, *arguments, **named)


@pytest.fixture
def ada(engine: Engine) -> int:
    """An engineer with a password."""
    role = AccessRole.ENGINEER
    return owner(engine, add_account, "ada", by="t", password=PASSWORD, everywhere=role)


def enter(engine: Engine, login: str = "ada", password: str = PASSWORD, at: datetime = NOW) -> str:
    token = sign_in(engine, login, password, HERE, at).token
    assert token is not None
    return token


def test_a_password_is_kept_as_argon2id_and_matches_only_itself() -> None:
    kept = hashed(PASSWORD)
    assert kept.startswith("$argon2id$")
    assert matches(kept, PASSWORD)
    assert not matches(kept, PASSWORD + " ")
    assert not matches(None, PASSWORD)
    assert not matches("no hash", PASSWORD)


@pytest.mark.parametrize("length", [0, MIN_LENGTH - 1, 257])
def test_a_password_of_a_wrong_length_is_refused(length: int) -> None:
    with pytest.raises(ConfigurationError, match=f"{MIN_LENGTH} to 256 characters, this one"):
        hashed("x" * length)


def test_the_right_password_signs_in_whatever_the_case_of_the_login(
    engine: Engine, ada: int
) -> None:
    found = person_of(engine, enter(engine, " Ada "), NOW)
    assert found is not None
    assert (found.account_id, found.login, found.everywhere) == (ada, "ada", AccessRole.ENGINEER)


def test_unknown_wrong_and_disabled_look_alike(engine: Engine, ada: int) -> None:
    owner(engine, add_account, "bob", by="t", password=PASSWORD)
    owner(engine, disable_account, owner(engine, account_number, "bob"), "t", NOW)
    owner(engine, add_account, "carol", by="t")
    tried = [("ada", "wrong"), ("nobody", PASSWORD), ("bob", PASSWORD), ("carol", "")]
    answers = {sign_in(engine, *each, HERE, NOW) for each in tried}
    assert len(answers) == 1
    assert answers.pop().token is None


@pytest.mark.parametrize("login", ["ada", "nobody"])
def test_after_five_failures_nothing_is_tried_for_a_while(
    engine: Engine, ada: int, login: str
) -> None:
    for _ in range(MOST_OF_ONE_AT_ONE):
        assert not sign_in(engine, login, "wrong", HERE, NOW).throttled
    assert sign_in(engine, login, PASSWORD, HERE, NOW + PERIOD / 2).throttled
    assert not sign_in(engine, login, PASSWORD, HERE, NOW + PERIOD).throttled


def test_failures_elsewhere_do_not_lock_a_person_out(engine: Engine, ada: int) -> None:
    for _ in range(MOST_OF_ONE_AT_ONE):
        sign_in(engine, "ada", "wrong", "198.51.100.7", NOW)
    assert sign_in(engine, "ada", PASSWORD, HERE, NOW).token is not None


def test_signing_in_forgives_what_failed_before(engine: Engine, ada: int) -> None:
    for _ in range(3):
        for _ in range(MOST_OF_ONE_AT_ONE - 1):
            sign_in(engine, "ada", "wrong", HERE, NOW)
        enter(engine)


def test_one_address_may_not_try_many_logins(engine: Engine) -> None:
    with transaction(engine, None, Role.GATE) as connection:
        taken = [book_attempt(connection, f"user{n}", HERE, NOW) for n in range(MOST_AT_ONE + 1)]
    assert taken == [True] * MOST_AT_ONE + [False]


def test_attempts_at_once_are_counted_one_by_one(engine: Engine) -> None:
    def attempt(_: int) -> bool:
        with transaction(engine, None, Role.GATE) as connection:
            return book_attempt(connection, "ada", HERE, NOW)

    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(attempt, range(24)))
    assert sum(taken) == MOST_OF_ONE_AT_ONE


def test_old_attempts_are_forgotten(engine: Engine) -> None:
    with transaction(engine, None, Role.GATE) as connection:
        book_attempt(connection, "ada", HERE, NOW)
        book_attempt(connection, "bob", HERE, NOW + PERIOD)
        assert connection.scalar(sa.select(sa.func.count()).select_from(login_attempt)) == 1


def test_a_session_ends_when_it_is_idle(engine: Engine, ada: int) -> None:
    token = enter(engine)
    assert person_of(engine, token, NOW + IDLE - timedelta(seconds=1)) is not None
    assert person_of(engine, token, NOW + IDLE) is None


def test_use_keeps_a_session_but_not_beyond_its_day(engine: Engine, ada: int) -> None:
    token, at = enter(engine), NOW
    while at < NOW + LONGEST:
        assert person_of(engine, token, at, used=True) is not None
        at += IDLE / 2
    assert person_of(engine, token, NOW + LONGEST) is None


def test_looking_alone_keeps_no_session(engine: Engine, ada: int) -> None:
    token = enter(engine)
    assert person_of(engine, token, NOW + IDLE / 2) is not None
    assert person_of(engine, token, NOW + IDLE) is None


def test_the_last_use_is_written_once_a_minute(engine: Engine, ada: int) -> None:
    token = enter(engine)
    for seconds in (10, 59):
        person_of(engine, token, NOW + timedelta(seconds=seconds), used=True)
        assert owner(engine, list_sessions, ada, NOW)[0]["seen_at"] == NOW
    person_of(engine, token, NOW + SEEN_EVERY, used=True)
    assert owner(engine, list_sessions, ada, NOW)[0]["seen_at"] == NOW + SEEN_EVERY


def test_sessions_end_at_once(engine: Engine, ada: int) -> None:
    first, second = enter(engine), enter(engine)
    sign_out(engine, first, NOW)
    assert person_of(engine, first, NOW) is None
    assert person_of(engine, second, NOW) is not None
    assert owner(engine, revoke_sessions, ada, "admin", NOW) == 1
    assert person_of(engine, second, NOW) is None
    assert owner(engine, list_sessions, None, NOW) == []


def test_a_disabled_account_has_no_session_and_gets_none(engine: Engine, ada: int) -> None:
    token = enter(engine)
    link = owner(engine, make_link, ada, "t", NOW)
    assert owner(engine, disable_account, ada, "t", NOW) == 1
    assert person_of(engine, token, NOW) is None
    assert link_of(engine, link, NOW) is None
    assert sign_in_by_link(engine, link, "", None, HERE, NOW) is None


def test_no_secret_stands_in_the_database(engine: Engine, ada: int) -> None:
    secrets = [enter(engine), owner(engine, make_link, ada, "t", NOW), PASSWORD]
    with transaction(engine, None, Role.OWNER) as connection:
        told = " ".join(
            str(connection.execute(sa.select(sa.func.jsonb_agg(sa.text(f"{table.name}.*")))
                .select_from(table)).scalar())
            for table in (account, session, one_time_link, login_attempt)
        )  # fmt: skip
    assert "argon2id" in told
    for secret in secrets:
        assert secret not in told
        assert secret.encode().hex() not in told


def test_the_first_link_makes_an_admin_once(engine: Engine) -> None:
    address = owner(engine, first_link, "http://here:1/", "t", NOW)
    assert address.startswith("http://here:1/link/")
    token = address.rpartition("/")[2]
    found = link_of(engine, token, NOW)
    assert found is not None
    assert found.account_id is None
    made = sign_in_by_link(engine, token, "Root", None, HERE, NOW)
    assert made is not None
    person = person_of(engine, made, NOW)
    assert person is not None
    assert (person.login, person.everywhere) == ("root", AccessRole.ADMIN)
    assert sign_in_by_link(engine, token, "other", None, HERE, NOW) is None
    assert owner(engine, first_link, "http://here:1", "t", NOW) is None


def test_a_first_link_is_dead_once_there_is_an_account(engine: Engine) -> None:
    token = owner(engine, make_link, None, "t", NOW)
    owner(engine, add_account, "ada", by="t")
    assert link_of(engine, token, NOW) is None
    assert sign_in_by_link(engine, token, "root", None, HERE, NOW) is None


def test_a_first_link_used_by_many_at_once_makes_one_account(engine: Engine) -> None:
    token = owner(engine, make_link, None, "t", NOW)

    def use(number: int) -> str | None:
        return sign_in_by_link(engine, token, f"root{number}", None, HERE, NOW)

    with ThreadPoolExecutor(6) as threads:
        made = [each for each in threads.map(use, range(6)) if each is not None]
    assert len(made) == 1
    assert len(owner(engine, list_accounts)) == 1


def test_a_link_holds_for_a_day_and_only_the_newest(engine: Engine, ada: int) -> None:
    older, newer = (owner(engine, make_link, ada, "t", NOW) for _ in range(2))
    assert link_of(engine, older, NOW) is None
    assert link_of(engine, newer, NOW + GOOD_FOR) is None
    late = sign_in_by_link(engine, newer, "", None, HERE, NOW + GOOD_FOR - timedelta(seconds=1))
    assert late is not None


def test_a_refused_password_leaves_the_link_as_it_was(engine: Engine, ada: int) -> None:
    link = owner(engine, make_link, ada, "t", NOW)
    with pytest.raises(ConfigurationError, match="password"):
        sign_in_by_link(engine, link, "", "short", HERE, NOW)
    assert sign_in_by_link(engine, link, "", "a new long password", HERE, NOW) is not None
    assert sign_in(engine, "ada", PASSWORD, HERE, NOW).token is None
    enter(engine, password="a new long password")


def test_a_provider_s_person_is_found_by_address_first_and_by_number_ever_after(
    engine: Engine,
) -> None:
    owner(engine, add_account, "ada@example.org", by="t")
    assert sign_in_by_provider(engine, ISSUER, "17", None, HERE, NOW) is None
    assert sign_in_by_provider(engine, ISSUER, "17", "eve@example.org", HERE, NOW) is None
    assert sign_in_by_provider(engine, ISSUER, "17", "Ada@example.org", HERE, NOW) is not None
    assert sign_in_by_provider(engine, ISSUER, "17", None, HERE, NOW) is not None
    # Somebody else who was given the address later is somebody else.
    assert sign_in_by_provider(engine, ISSUER, "18", "ada@example.org", HERE, NOW) is None
    assert sign_in_by_provider(engine, ISSUER + "/b", "17", None, HERE, NOW) is None


@pytest.mark.parametrize("role", list(AccessRole))
def test_a_role_allows_what_the_table_says_and_nothing_else(
    engine: Engine, project_id: int, role: AccessRole
) -> None:
    number = owner(engine, add_account, "ada", by="t", password=PASSWORD)
    token = enter(engine)
    with pytest.raises(NotAllowed, match="you have no role here"):
        required_person(engine, token, project_id, Right.SEE_NUMBERS, NOW)
    owner(engine, grant_role, number, project_id, role, "t")
    for right in Right:
        if right in RIGHTS[role]:
            assert required_person(engine, token, project_id, right, NOW).login == "ada"
        else:
            with pytest.raises(NotAllowed, match=f"your role here, {role}, does not allow"):
                required_person(engine, token, project_id, right, NOW)
        with pytest.raises(NotAllowed):
            required_person(engine, token, project_id + 1, right, NOW)


def test_a_role_in_a_project_goes_before_the_one_everywhere(
    engine: Engine, project_id: int, ada: int
) -> None:
    token = enter(engine)
    owner(engine, grant_role, ada, project_id, AccessRole.VIEWER, "t")
    found = person_of(engine, token, NOW)
    assert found is not None
    assert found.role_in(project_id) is AccessRole.VIEWER
    assert found.role_in(project_id + 1) is AccessRole.ENGINEER


def test_no_session_no_right(engine: Engine, project_id: int, ada: int) -> None:
    for token in ("", "nonsense", "\udcff"):
        with pytest.raises(NotAllowed, match="sign in again"):
            required_person(engine, token, project_id, Right.SEE_NUMBERS, NOW)


def test_what_is_wrong_with_an_account_is_named(engine: Engine, ada: int) -> None:
    with pytest.raises(ConfigurationError, match="'ada' has an account already"):
        owner(engine, add_account, "ADA", by="t")
    with pytest.raises(ConfigurationError, match="is not 1 to 200 letters"):
        owner(engine, add_account, "a b", by="t")
    with pytest.raises(UnknownSubject, match="inferwatch user list"):
        owner(engine, account_number, "bob")
    with pytest.raises(ConfigurationError, match="password"):
        owner(engine, set_password, ada, "short")
