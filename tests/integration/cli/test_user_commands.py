"""`inferwatch user`: accounts from the command line."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest
from sqlalchemy.engine import Engine

from monitor.reports.access import person_of, sign_in, sign_in_by_link
from tests.integration.cli.conftest import Run

PASSWORD = "correct horse battery"


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def token_of(engine: Engine, login: str, password: str = PASSWORD) -> str | None:
    return sign_in(engine, login, password, "192.0.2.1", datetime.now(UTC)).token


def test_the_first_link_comes_before_any_account(run: Run, engine: Engine) -> None:
    assert "No account yet" in run("user", "list").out
    link = run("user", "link").out.strip()
    assert link.startswith("http://127.0.0.1:8501/link/")
    token = link.rpartition("/")[2]
    assert sign_in_by_link(engine, token, "root", None, "here", datetime.now(UTC)) is not None
    (row,) = json.loads(run("user", "list", "--json").out)
    assert (row["login"], row["everywhere"], row["has_password"]) == ("root", "admin", False)
    again = run("user", "link").out.strip().rpartition("/")[2]
    assert sign_in_by_link(engine, again, "", None, "here", datetime.now(UTC)) is not None


def test_an_account_with_a_link(run: Run, engine: Engine, project_id: int) -> None:
    added = run("user", "add", "Ada", "--role", "engineer", "--project", "default")
    assert (added.code, added.out.splitlines()[0]) == (
        0, "Account ada: engineer in project default.",
    )  # fmt: skip
    token = added.out.splitlines()[1].rpartition("/")[2]
    made = sign_in_by_link(engine, token, "", PASSWORD, "here", datetime.now(UTC))
    assert made is not None
    found = person_of(engine, made, datetime.now(UTC))
    assert found is not None
    assert (found.everywhere, dict(found.roles)) == (None, {project_id: "engineer"})
    (told,) = json.loads(run("user", "sessions", "ada", "--json").out)
    assert (told["login"], told["method"], told["address"]) == ("ada", "link", "here")
    assert "ada" in run("user", "sessions").out
    assert "1 sessions of ada ended" in run("user", "revoke", "ada").out
    assert person_of(engine, made, datetime.now(UTC)) is None
    assert "Nobody is signed in" in run("user", "sessions").out


def test_roles_passwords_and_the_end(
    run: Run, engine: Engine, project_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, PASSWORD + "\n")
    added = run("user", "add", "ada", "--password-stdin")
    assert added.out == "Account ada: viewer in all projects.\n"
    assert token_of(engine, "ada") is not None
    assert run("user", "role", "ada", "on-call", "--project", "default").code == 0
    assert "default: on-call" in run("user", "list").out
    type_in(monkeypatch, "another long password\n")
    assert "1 sessions ended" in run("user", "passwd", "ada", "--password-stdin").out
    assert token_of(engine, "ada") is None
    assert token_of(engine, "ada", "another long password") is not None
    assert "1 sessions ended" in run("user", "disable", "ada").out
    assert token_of(engine, "ada", "another long password") is None


def test_mistakes_are_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("user", "add", "ada", "--role", "king").code == 2
    assert "there are viewer, engineer" in run("user", "add", "ada", "--role", "king").err
    assert "no project 'x'" in run("user", "add", "ada", "--project", "x").err
    assert run("user", "list", "--json").out.strip() == "[]"
    type_in(monkeypatch, "short\n")
    assert "12 to 256 characters" in run("user", "add", "ada", "--password-stdin").err
    assert "no account 'bob'" in run("user", "revoke", "bob").err
    run("user", "add", "ada")
    assert "say whose link; admins are: nobody" in run("user", "link").err
