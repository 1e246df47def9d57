"""The end of processes, forks and kills: what was logged arrives, once."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.client.conftest import Place
from tests.client.programs import PREFORK_WORKERS

ROOT = Path(__file__).parents[2]


def run(
    name: str, place: Place, address: str, *more: str, exit_seconds: float = 30.0
) -> subprocess.CompletedProcess[str]:
    """A serving program from its beginning to its end."""
    command = [sys.executable, "-W", "error", "-m", "tests.client.programs"]
    return subprocess.run(
        [*command, name, address, place.key, place.model, str(exit_seconds), *more],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'client'}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_what_was_logged_last_is_sent_at_the_end_of_the_process(
    place: Place, collector: str
) -> None:
    done = run("serve_and_end", place, collector)
    assert (done.returncode, done.stderr) == (0, "")
    assert place.stored() == 50


def test_an_error_of_the_program_stays_its_own_and_its_requests_arrive(
    place: Place, collector: str
) -> None:
    done = run("fail", place, collector)
    assert done.returncode == 1
    assert "the program's own" in done.stderr
    assert place.stored() == 5


def test_forked_workers_log_for_themselves_and_nothing_is_sent_twice(
    place: Place, collector: str
) -> None:
    done = run("prefork", place, collector)
    assert (done.returncode, done.stderr) == (0, "")
    assert place.stored() == 20 + 20 * PREFORK_WORKERS
    assert place.rows("select count(distinct request_id) from request_log where model_id = :model")[
        0
    ] == (20 + 20 * PREFORK_WORKERS,)


def test_workers_of_multiprocessing_send_at_their_end(place: Place, collector: str) -> None:
    done = run("with_multiprocessing", place, collector)
    assert (done.returncode, done.stderr) == (0, "")
    assert place.stored() == 40


def test_a_dead_collector_does_not_hold_up_the_end_of_the_process(place: Place, dead: str) -> None:
    began = time.monotonic()
    done = run("serve_and_end", place, dead, exit_seconds=3)
    assert done.returncode == 0
    assert "50 records dropped so far (exit)" in done.stderr
    assert time.monotonic() - began < 30  # exit_seconds is 3; the rest is the interpreter's start


def test_a_spool_outlives_a_dead_collector_and_the_next_process_sends_it(
    place: Place, dead: str, tmp_path: Path
) -> None:
    done = run("serve_and_end", place, dead, str(tmp_path), exit_seconds=1)
    assert done.returncode == 0
    assert "dropped" not in done.stderr
    with place.collector() as address:
        done = run("serve_and_end", place, address, str(tmp_path))
        assert done.returncode == 0
        assert place.stored() == 100
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("spooling", ["serve_and_be_killed"])
def test_a_spool_outlives_a_kill(place: Place, dead: str, tmp_path: Path, spooling: str) -> None:
    done = run(spooling, place, dead, str(tmp_path))
    assert done.returncode == -9
    with place.collector() as address:
        client = place.client(address, spool=tmp_path)
        client.log_request({"age": 1})
        end = time.monotonic() + 20
        while client.statistics().accepted < 51 and time.monotonic() < end:
            time.sleep(0.02)
        client.close()
        told = client.statistics()
    assert (told.adopted, told.logged, told.accepted, told.dropped) == (50, 51, 51, {})
    assert place.stored() == 51
    assert list(tmp_path.rglob("*")) == []
