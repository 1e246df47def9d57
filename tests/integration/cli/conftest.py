"""The command line, run in this process on the test's database; reference files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet
import pytest

from monitor.cli.main import main
from tests.integration.cli.factories import CONTRACT, reference_table


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    """The whole program: its own reading of the environment, its own exit code."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("INFERWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments: object) -> Ended:
        capfd.readouterr()
        code: object = 0
        try:
            main([str(each) for each in arguments])
        except SystemExit as end:
            code = end.code
        told = capfd.readouterr()
        return Ended(int(str(code or 0)), told.out, told.err)

    return run_command


@pytest.fixture
def contract_file(tmp_path: Path) -> Path:
    """A contract of a small credit model."""
    path = tmp_path / "contract.yaml"
    path.write_text(CONTRACT)
    return path


@pytest.fixture
def reference_file(tmp_path: Path) -> Path:
    """Reference rows that fit it."""
    path = tmp_path / "reference.parquet"
    pyarrow.parquet.write_table(reference_table(), path)
    return path
