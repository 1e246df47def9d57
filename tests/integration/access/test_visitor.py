"""Deeds and answers are judged by the rights of their own moment, on the server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.engine import Connection, Engine

from dashboards import data
from dashboards.frame import Frame
from dashboards.visitor import ANYBODY, Visitor
from monitor.access import RIGHTS, AccessRole, Person, Right
from monitor.reports.access import person_of
from monitor.reports.database import ProjectName
from monitor.store.accounts import account_number, grant_role
from monitor.store.engine import Role, transaction
from monitor.store.sessions import revoke_sessions
from tests.signed_in import new_session

UTC_ZONE = ZoneInfo("UTC")
ASKED: list[str] = []


@pytest.fixture(autouse=True)
def closed_connections() -> Iterator[None]:
    yield
    data.forget()
    data.engine.clear()
    ASKED.clear()


def frame_of(url: str, project_id: int, person: Person, token: str | None) -> Frame:
    project = ProjectName(project_id, "default")
    visitor = Visitor(person, token)
    return Frame(url, project, (project,), UTC_ZONE, datetime.now(UTC), visitor)


def frame_as(engine: Engine, url: str, project_id: int, role: AccessRole) -> Frame:
    """The frame of somebody with this role, with a real session."""
    token = new_session(url, role)
    found = person_of(engine, token, datetime.now(UTC))
    assert found is not None
    return frame_of(url, project_id, found, token)


@pytest.mark.parametrize("role", list(AccessRole))
def test_a_deed_is_done_only_if_the_role_allows_it(
    engine: Engine, database_url: str, project_id: int, role: AccessRole
) -> None:
    frame = frame_as(engine, database_url, project_id, role)
    for right in Right:
        done: list[int] = []
        problem = frame.do(lambda _engine, project, kept=done: kept.append(project), right=right)
        if right in RIGHTS[role]:
            assert (problem, done) == (None, [project_id])
        else:
            assert done == []
            assert problem is not None
            assert f"your role here, {role}, does not allow to {right}" in problem


def as_owner(connection: Connection) -> int:
    return account_number(connection, "engineer@example.org")


def test_a_page_that_was_open_before_gives_no_right_of_before(
    engine: Engine, database_url: str, project_id: int
) -> None:
    """Its frame says engineer still; the session says otherwise, or holds no more."""
    frame = frame_as(engine, database_url, project_id, AccessRole.ENGINEER)
    done: list[int] = []
    with transaction(engine, None, Role.OWNER) as connection:
        grant_role(connection, as_owner(connection), project_id, AccessRole.VIEWER, "test")
    assert frame.may(Right.ACKNOWLEDGE)
    told = frame.do(lambda _engine, project: done.append(project), right=Right.ACKNOWLEDGE)
    assert "viewer, does not allow to acknowledge" in (told or "")
    with transaction(engine, None, Role.OWNER) as connection:
        grant_role(connection, as_owner(connection), project_id, AccessRole.ADMIN, "test")
        revoke_sessions(connection, as_owner(connection), "test", datetime.now(UTC))
    told = frame.do(lambda _engine, project: done.append(project), right=Right.ACKNOWLEDGE)
    assert told == "your session is over; sign in again"
    assert done == []


def test_without_sign_in_a_name_is_asked_for_and_everything_is_allowed(
    database_url: str, project_id: int
) -> None:
    frame = frame_of(database_url, project_id, ANYBODY, None)
    assert frame.visitor.name is None
    assert all(frame.may(right) for right in Right)
    assert frame.do(lambda _engine, _project: None, right=Right.RESPOND) is None


def asked_by(_engine: Engine, _project_id: int, word: str) -> str:
    """A report that notes each time it is really asked."""
    ASKED.append(word)
    return word


def test_answers_are_kept_apart_by_project_and_role(database_url: str) -> None:
    questions = [
        (project, role) for project in (1, 2) for role in (AccessRole.VIEWER, AccessRole.ADMIN)
    ]
    for _ in range(2):
        for project, role in questions:
            data.ask(database_url, project, role, asked_by, "same question")
    assert len(ASKED) == len(questions)
