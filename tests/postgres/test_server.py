"""One server in one home: what it keeps, who it lets in, how it is set."""

from __future__ import annotations

import os
import signal
import socket
import stat
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from monitor.errors import EmbeddedPostgresError
from monitor.postgres.binaries import PostgresBinaries, find_postgres_bin
from monitor.postgres.initialise import ServerOptions
from monitor.postgres.server import EmbeddedServer, embedded_database
from monitor.postgres.status import ServerCondition
from tests.postgres.support import (
    DURABLE_OPTIONS,
    TEST_OPTIONS,
    ask,
    count_rows,
    installations,
    label_of,
    write_rows,
)

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("binaries", installations(), ids=label_of)
def test_committed_rows_and_the_port_survive_a_restart(
    home: Path, binaries: PostgresBinaries
) -> None:
    server = EmbeddedServer(home, binaries, options=DURABLE_OPTIONS)
    assert server.status().condition is ServerCondition.NOT_SET_UP
    first = server.start(child_of_this_process=True)
    write_rows(first.url, 1000)
    assert server.status().is_running
    assert server.status().major_version == binaries.major
    assert server.stop()
    assert server.status().condition is ServerCondition.STOPPED
    assert not server.stop()
    second = server.start(child_of_this_process=True)
    assert count_rows(second.url) == 1000
    assert (second.port, second.url) == (first.port, first.url)


def test_who_gets_in_and_with_which_rights(server: EmbeddedServer) -> None:
    running = server.start(child_of_this_process=True)
    parts = urlsplit(running.url)
    assert (parts.username, parts.hostname, parts.path) == (
        "inferwatch",
        "127.0.0.1",
        "/inferwatch",
    )
    for password in ("wrong", ""):
        refused = running.url.replace(f":{parts.password}@", f":{password}@")
        with pytest.raises(psycopg.OperationalError, match=r"password"):
            psycopg.connect(refused)
    rights = "rolsuper, rolbypassrls, rolcreatedb, rolreplication, rolcreaterole"
    with psycopg.connect(running.url) as connection:
        row = connection.execute(f"SELECT {rights} FROM pg_roles WHERE rolname = current_user")
        assert row.fetchone() == (False, False, False, False, True)
        owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'inferwatch'"
        assert connection.execute(owner).fetchone() == ("inferwatch",)
    methods = ask(
        running.admin_url, "SELECT array_agg(DISTINCT auth_method) FROM pg_hba_file_rules"
    )
    assert methods == ["scram-sha-256"]


def test_settings_that_keep_data_safe_and_private(home: Path) -> None:
    url = EmbeddedServer(home, options=DURABLE_OPTIONS).start(child_of_this_process=True).url
    wanted = {
        "data_checksums": "on", "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on",
        "listen_addresses": "127.0.0.1", "max_connections": "100", "shared_buffers": "16MB",
        "max_wal_size": "2GB", "TimeZone": "UTC", "log_error_verbosity": "terse",
        "log_min_error_statement": "panic", "password_encryption": "scram-sha-256",
        "server_encoding": "UTF8",
    }  # fmt: skip
    with psycopg.connect(url) as connection:
        found = {
            name: connection.execute("SELECT current_setting(%s)", (name,)).fetchone()[0]
            for name in wanted
        }
    assert found == wanted


def test_tests_may_give_up_crash_safety(home: Path) -> None:
    options = ServerOptions(durable=False, shared_buffers="16MB")
    with embedded_database(home, options=options) as url:
        assert ask(url, "SELECT current_setting('fsync')") == "off"
    assert not EmbeddedServer(home).status().is_running


def test_a_setting_changed_in_the_database_outlives_our_own(server: EmbeddedServer) -> None:
    running = server.start(child_of_this_process=True)
    with psycopg.connect(running.admin_url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET max_connections = 40")
    server.stop()
    url = server.start(child_of_this_process=True).url
    assert ask(url, "SELECT current_setting('max_connections')") == "40"


def test_only_the_owner_can_look_into_folder_and_passwords(server: EmbeddedServer) -> None:
    server.start(child_of_this_process=True)
    folders = server.folders
    assert stat.S_IMODE(folders.data.stat().st_mode) == 0o700
    for path in (folders.superuser_password, folders.application_password, folders.log):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert folders.superuser_password.read_text() != folders.application_password.read_text()


def test_passwords_stay_out_of_arguments_environment_log_and_repr(
    home: Path, tmp_path: Path
) -> None:
    # Programs that write down what they are given, then become the real ones.
    real, wrapped = find_postgres_bin(), home.with_name(home.name + "-bin")
    record = wrapped / "record"
    wrapped.mkdir(mode=0o755)
    record.touch()
    record.chmod(0o666)
    for name in ("initdb", "postgres"):
        script = f'#!/bin/sh\n{{ echo "$0 $@"; env; }} >>{record}\nexec {real.folder}/{name} "$@"\n'
        (wrapped / name).write_text(script)
        (wrapped / name).chmod(0o755)
    try:
        server = EmbeddedServer(home, find_postgres_bin(wrapped), options=TEST_OPTIONS)
        running = server.start(child_of_this_process=True)
        texts = [record.read_text(), server.folders.log.read_text(), repr(running)]
    finally:
        for path in (wrapped / "initdb", wrapped / "postgres", record):
            path.unlink()
        wrapped.rmdir()
    assert "--pwfile=" in texts[0]
    for path in (server.folders.superuser_password, server.folders.application_password):
        assert all(path.read_text().strip() not in text for text in texts)


def test_the_callers_environment_does_not_reach_the_server(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGDATA", "PGPORT", "PGOPTIONS", "PGSSLMODE", "PGUSER"):
        monkeypatch.setenv(name, "require" if name == "PGSSLMODE" else "77")
    monkeypatch.setenv("OTHER_SECRET", "do not inherit")
    pid = server.start(child_of_this_process=True).pid
    names = {part.split(b"=")[0] for part in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}
    assert not {name for name in names if name.startswith(b"OTHER")}
    assert b"PGPORT" not in names


@pytest.mark.parametrize(
    "name", ["with space's", "ünïcode", "long-" + "x" * 180, "comma,and\\slash"]
)
def test_unusual_home_folders(home: Path, name: str) -> None:
    home.mkdir(mode=0o711)
    home.chmod(0o711)
    server = EmbeddedServer(home / name, options=TEST_OPTIONS)
    try:
        running = server.start(child_of_this_process=True)
        write_rows(running.url, 5)
        with psycopg.connect(running.admin_url) as connection:
            folder = connection.execute("SHOW unix_socket_directories").fetchone()[0]
        if len(name) > 100:
            assert folder == ""
        else:
            path = server.folders.own / "socket" / f".s.PGSQL.{running.port}"
            assert path.is_socket()
        server.stop()
        assert count_rows(server.start(child_of_this_process=True).url) == 5
    finally:
        server.stop()


def test_a_taken_port_is_given_up_for_another(server: EmbeddedServer) -> None:
    port = server.start(child_of_this_process=True).port
    server.stop()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        moved = server.start(child_of_this_process=True)
    assert moved.port != port
    assert urlsplit(server.url).port == moved.port
    assert ask(moved.url, "SELECT 7") == 7


def test_another_major_version_is_refused_with_a_way_out(server: EmbeddedServer) -> None:
    server.start(child_of_this_process=True)
    server.stop()
    (server.folders.data / "PG_VERSION").write_text("14\n")
    with pytest.raises(EmbeddedPostgresError, match=r"PostgreSQL 14.*INFERWATCH_PG_BIN.*pg_dump"):
        server.start(child_of_this_process=True)


def test_an_interrupted_first_start_is_made_good(server: EmbeddedServer) -> None:
    server.folders.create()
    partial = server.folders.own / "data.partial"
    partial.mkdir()
    (partial / "PG_VERSION").write_text("18\n")
    assert ask(server.start(child_of_this_process=True).url, "SELECT 1") == 1
    assert not partial.exists()


def test_a_server_that_can_not_start_says_what_its_log_says(home: Path) -> None:
    server = EmbeddedServer(home, options=ServerOptions(shared_buffers="nonsense"))
    with pytest.raises(EmbeddedPostgresError, match='invalid value for parameter "shared_buffers"'):
        server.start(child_of_this_process=True)
    with pytest.raises(EmbeddedPostgresError, match='invalid value for parameter "shared_buffers"'):
        server.start(child_of_this_process=False)
    assert not server.status().is_running


def test_lost_passwords_are_told_apart(server: EmbeddedServer) -> None:
    server.start(child_of_this_process=True)
    server.stop()
    server.folders.application_password.unlink()
    assert ask(server.start(child_of_this_process=True).url, "SELECT 1") == 1
    server.stop()
    server.folders.superuser_password.write_text("wrong\n")
    with pytest.raises(EmbeddedPostgresError, match=r"superuser\.password"):
        server.start(child_of_this_process=True)


def test_a_server_that_will_not_stop_is_not_killed_unasked(server: EmbeddedServer) -> None:
    pid = server.start(child_of_this_process=True).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(EmbeddedPostgresError, match="--immediate"):
            server.stop(timeout=0.5)
    finally:
        os.kill(pid, signal.SIGCONT)
    server.stop()
    assert not server.status().is_running
