"""`inferwatch explore`: the Evidently report of stored samples, and that nothing leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from tests.integration.cli.conftest import Run
from tests.integration.cli.factories import hours, reference_table, store_hours

MIDNIGHT = datetime(2026, 5, 31, 22, tzinfo=UTC)
# Python's own sockets; the database is reached by libpq, which these events do not see.
WATCHED = """
import sys
def watch(event, details):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname"):
        print("SOCKET", event, details, file=sys.stderr)
        raise OSError("no network here")
sys.addaudithook(watch)
from monitor.cli.main import main
main(sys.argv[1:])
"""


@pytest.fixture
def sampled(run: Run, contract_file: Path, reference_file: Path, engine: Engine) -> Run:
    assert run("contract", "apply", contract_file, "--baseline", reference_file).code == 0
    store_hours(engine, 1, reference_table(seed=5, shift=15), hours(MIDNIGHT, 2))
    return run


def explore(database_url: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A process of its own: Evidently's imports warn, and its telemetry starts threads."""
    environment = {**os.environ, "DATABASE_URL": database_url, "INFERWATCH_HOME": str(folder)}
    environment.pop("DO_NOT_TRACK", None)
    return subprocess.run(
        [sys.executable, "-c", WATCHED, "explore", "credit", *options],
        capture_output=True, text=True, env=environment, cwd=folder, timeout=200, check=False,
    )  # fmt: skip


@pytest.mark.usefixtures("sampled")
def test_a_report_is_written_and_nothing_is_sent(database_url: str, tmp_path: Path) -> None:
    done = explore(database_url, tmp_path, "--window", "2026-06-01/2026-06-02")

    assert done.returncode == 0, done.stderr
    assert "SOCKET" not in done.stderr
    name = "explore-credit-20260531T2200Z-20260601T2200Z-reference.html"
    assert f"{name}: 400 rows of the window against 400 of baseline reference" in done.stdout
    page = (tmp_path / name).read_text()
    assert "income" in page
    # A value sent in a request must not become a part of the page.
    assert "<script>alert(1)" not in page
    assert "u2039script" in page


@pytest.mark.usefixtures("sampled")
def test_a_missing_sample_is_told(database_url: str, tmp_path: Path) -> None:
    done = explore(database_url, tmp_path, "--window", "2026-07-01/2026-07-02")

    assert done.returncode == 2
    assert "no sample of live requests of credit in" in done.stderr
    assert list(tmp_path.glob("*.html")) == []


def test_a_window_that_can_not_be_read_is_told(sampled: Run) -> None:
    ended = sampled("explore", "credit", "--window", "2026-06-01")

    assert ended.code == 2
    assert "is not FROM/TO" in ended.err
