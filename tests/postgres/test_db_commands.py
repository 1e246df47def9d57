"""`inferwatch db`, run as a program of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from monitor.postgres.server import EmbeddedServer
from tests.postgres.support import TEST_OPTIONS, ask, interpreter_for

pytestmark = pytest.mark.postgres

Run = Callable[..., subprocess.CompletedProcess[str]]
PROGRAM = "from monitor.cli.db import app; app(prog_name='inferwatch db')"


@pytest.fixture
def db(home: Path) -> Run:
    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        python, environment = interpreter_for(None)
        return subprocess.run(
            [python, "-W", "error", "-c", PROGRAM, *arguments],
            env=environment | {"HOME": str(home), "INFERWATCH_HOME": str(home)} | variables,
            capture_output=True, text=True, timeout=60, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    return run


def test_the_life_of_a_database(db: Run, home: Path) -> None:
    assert db("status").returncode == 3
    assert db("url").returncode == 3
    assert db("psql", "-c", "SELECT 1").returncode == 3
    assert not home.exists(), "looking must not make anything"
    started = db("start")
    assert (started.returncode, started.stderr) == (0, "")
    assert "already runs" in db("start").stdout
    assert db("status").returncode == 0
    url = db("url").stdout.strip()
    assert ask(url, "SELECT current_user") == "inferwatch"
    assert url.split(":")[2].split("@")[0] not in started.stdout + db("status").stdout
    assert "stopped" in db("stop").stdout
    stopped = db("stop")
    assert (stopped.returncode, stopped.stdout) == (0, "The database was not running.\n")
    assert db("status").returncode == 3
    assert db("url").stdout == ""


def test_status_as_json(db: Run, home: Path) -> None:
    server = EmbeddedServer(home, options=TEST_OPTIONS)
    running = server.start(child_of_this_process=True)
    found = json.loads(db("status", "--json").stdout)
    assert found["running"] is True
    assert (found["process"], found["port"]) == (running.pid, running.port)
    assert found["ends_with_process"] == os.getpid()
    server.stop()
    found = json.loads(db("status", "--json").stdout)
    assert (found["running"], found["condition"]) == (False, "stopped")


def test_status_tells_a_frozen_server_from_a_running_one(
    db: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = EmbeddedServer(home, options=TEST_OPTIONS).start(child_of_this_process=True).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        done = db("status", "--json")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert done.returncode == 3
    assert json.loads(done.stdout)["condition"] == "not answering"


def test_psql_passes_arguments_and_exit_codes_through(db: Run, home: Path) -> None:
    EmbeddedServer(home, options=TEST_OPTIONS).start(child_of_this_process=True)
    done = db("psql", "-At", "-c", "SELECT current_user, 6 * 7")
    assert (done.returncode, done.stdout) == (0, "inferwatch|42\n")
    assert db("psql", "-c", "SELECT no_such_column").returncode == 1
    assert db("psql", "-v", "ON_ERROR_STOP=1", "-f", "/no/such/file").returncode == 1
    # psql itself can be asked what it was given: no password among its arguments.
    shown = db("psql", "-At", "-c", r"\! tr '\0' ' ' < /proc/$PPID/cmdline")
    assert "passfile=" in shown.stdout
    assert EmbeddedServer(home).folders.application_password.read_text().strip() not in shown.stdout


def test_an_outside_database_is_looked_at_but_never_started_or_stopped(db: Run, home: Path) -> None:
    running = EmbeddedServer(home, options=TEST_OPTIONS).start(child_of_this_process=True)
    other = str(home) + "-unused"
    for command in ("start", "stop"):
        done = db(command, DATABASE_URL=running.url, INFERWATCH_HOME=other)
        assert done.returncode == 2
        assert "DATABASE_URL" in done.stderr
    assert not Path(other).exists()
    done = db("status", "--json", DATABASE_URL=running.url, INFERWATCH_HOME=other)
    assert done.returncode == 0
    assert json.loads(done.stdout)["port"] == str(running.port)
    assert db("url", DATABASE_URL=running.url).stdout.strip() == running.url
    done = db("psql", "-At", "-c", "SELECT 5", DATABASE_URL=running.url, INFERWATCH_HOME=other)
    assert done.stdout == "5\n"
    with psycopg.connect(running.url):
        pass


def test_an_outside_database_that_does_not_answer(db: Run) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"postgresql://user:secret@127.0.0.1:{closed.getsockname()[1]}/x"
        done = db("status", DATABASE_URL=address)
    assert done.returncode == 3
    assert "not answering" in done.stdout
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "address", ["postgres//user:secret@host/x", "postgresql://u:secret@h:%zz/x"]
)
def test_an_address_that_is_none_is_refused_without_repeating_it(db: Run, address: str) -> None:
    for command in ("status", "psql"):
        done = db(command, DATABASE_URL=address)
        assert done.returncode == 2, done.stderr
        assert "DATABASE_URL" in done.stderr
        assert "secret" not in done.stdout + done.stderr


def test_a_wrong_program_folder_is_told_plainly(db: Run) -> None:
    done = db("start", INFERWATCH_PG_BIN="/no/such/folder")
    assert done.returncode == 1
    assert "INFERWATCH_PG_BIN" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_command_has_help(db: Run) -> None:
    for command in ("start", "stop", "status", "url", "psql"):
        done = db(command, "--help")
        assert done.returncode == 0
        assert "Exit codes" in done.stdout
