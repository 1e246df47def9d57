"""`inferwatch keys`, `inferwatch migrate`, and errors of the program as a whole."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from monitor.cli.main import build_app, main
from monitor.postgres.server import embedded_database
from monitor.store.engine import Role, transaction
from monitor.store.projects import authenticate
from tests.database import temporary_home
from tests.integration.cli.conftest import Run


def test_a_key_works_until_it_is_revoked(run: Run, engine: Engine) -> None:
    made = run(
        *("keys", "create", "--scope", "ingest", "--scope", "labels"),
        *("--name", "router", "--days", 3, "--by", "ada"),
    )
    key = made.out.strip()
    (listed,) = json.loads(run("keys", "list", "--json").out)

    with transaction(engine, None, Role.OWNER) as connection:
        principal = authenticate(connection, key, datetime.now(UTC))
        later = authenticate(connection, key, datetime.now(UTC) + timedelta(days=4))
    assert principal is not None
    assert principal.scopes == {"ingest", "labels"}
    assert later is None
    assert (listed["name"], listed["created_by"]) == ("router", "ada")
    assert key not in run("keys", "list").out

    assert run("keys", "revoke", listed["prefix"]).code == 0
    with transaction(engine, None, Role.OWNER) as connection:
        assert authenticate(connection, key, datetime.now(UTC)) is None
    again = run("keys", "revoke", listed["prefix"])
    assert again.code == 2
    assert "no live key" in again.err


def test_unknown_scopes_are_refused(run: Run) -> None:
    ended = run("keys", "create", "--scope", "everything")

    assert ended.code == 2
    assert "unknown scope everything; known are ingest, labels" in ended.err


def test_a_database_that_was_never_migrated_says_so(
    run: Run, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", empty_database_url)

    before = run("models")
    first, again, after = run("migrate"), run("migrate"), run("models", "--project", "x")

    assert before.code == 2
    assert "run `inferwatch migrate`" in before.err
    assert "went from revision none to" in first.out
    assert "already" in again.out
    assert after.err == "no project 'x'; there are: none yet\n"


def test_without_a_running_database_the_remedy_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("INFERWATCH_HOME", str(tmp_path))

    with pytest.raises(SystemExit) as ended:
        main(["models"])

    assert ended.value.code == 2
    assert "run `inferwatch db start` (or `inferwatch up`" in capsys.readouterr().err


def test_without_a_database_url_the_embedded_server_that_runs_is_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with temporary_home() as home, embedded_database(home):
        monkeypatch.delenv("DATABASE_URL", raising=False)
        monkeypatch.setenv("INFERWATCH_HOME", str(home))
        with pytest.raises(SystemExit) as ended:
            main(["migrate"])

    assert ended.value.code == 0
    assert "went from revision none to" in capsys.readouterr().out


def test_a_database_that_does_not_answer_is_told_without_its_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:secret@127.0.0.1:9/none")

    with pytest.raises(SystemExit) as ended:
        main(["models"])

    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert "Postgres does not answer" in told
    assert "secret" not in told
    assert "Traceback" not in told


def test_help_and_version_need_nothing_heavy() -> None:
    code = (
        "import sys; from monitor.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pyarrow', 'sqlalchemy', 'pandas', 'scipy', 'evidently', 'pydantic', 'fastapi'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "contract" in done.stdout
    assert "HEAVY []" in done.stdout


def test_every_module_of_commands_is_mounted() -> None:
    names = {group.name for group in build_app().registered_groups} | {
        command.name or command.callback.__name__
        for command in build_app().registered_commands
        if command.callback is not None
    }

    assert names >= {"contract", "baseline", "alerts", "keys", "db", "migrate", "models", "explore"}
    assert names >= {"up", "worker", "doctor", "dashboard", "demo"}
