"""What the tests of the embedded server share: other processes, other users, waiting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
import pytest

from monitor.postgres.binaries import PostgresBinaries, find_postgres_bin
from monitor.postgres.initialise import ServerOptions

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
TEST_OPTIONS = ServerOptions(durable=False, shared_buffers="16MB")
DURABLE_OPTIONS = ServerOptions(shared_buffers="16MB")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")

START_AND_WAIT = """
import json, sys
from pathlib import Path
from monitor.postgres.initialise import ServerOptions
from monitor.postgres.server import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), options=ServerOptions(shared_buffers="16MB"))
running = server.start(child_of_this_process=sys.argv[2] == "child")
print(json.dumps({"pid": running.pid, "url": running.url, "started_here": running.started_here,
                  "parent": running.parent}), flush=True)
if sys.argv[3] == "wait":
    sys.stdin.read()
"""


def installations() -> list[PostgresBinaries]:
    """The packaged server and, where there is one, the distribution's oldest."""
    distribution = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return [find_postgres_bin(), *(find_postgres_bin(path.parent) for path in distribution[:1])]


def label_of(binaries: PostgresBinaries) -> str:
    return f"{binaries.source.value}-{binaries.major}"


@cache
def interpreter_for(user: int | None) -> tuple[str, dict[str, str]]:
    """A Python that `user` can run with our packages; skips where there is none."""
    packages = next(path for path in sys.path if (Path(path) / "psycopg").is_dir())
    environment = {"PYTHONPATH": f"{ROOT}:{packages}", "PATH": os.environ["PATH"]}
    if user is None:
        return sys.executable, environment
    system = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, system):
        try:
            done = subprocess.run(
                [candidate, "-c", "import psycopg, typer, monitor.postgres.server"],
                user=user, group=user, extra_groups=[], env=environment, cwd="/", check=False,
                capture_output=True,
            )  # fmt: skip
        except OSError:
            continue
        if done.returncode == 0:
            return candidate, environment
    pytest.skip(f"user {user} can run neither {sys.executable} nor {system} with our packages")


@contextmanager
def another_process(
    home: Path, mode: str, end: str = "wait", *, user: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process that starts the server of `home` (`mode` child or detached) and then waits."""
    python, environment = interpreter_for(user)
    with subprocess.Popen(
        [python, "-c", START_AND_WAIT, str(home), mode, end],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        user=user, group=user, extra_groups=None if user is None else [], env=environment, cwd="/",
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def told_by(process: subprocess.Popen[str]) -> dict[str, object]:
    """What the other process printed about its server."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        assert process.stderr is not None
        pytest.fail(process.stderr.read())
    return json.loads(line)  # type: ignore[no-any-return]


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True


def write_rows(url: str, count: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (number int)")
        connection.execute("INSERT INTO kept SELECT generate_series(1, %s)", (count,))


def count_rows(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row is not None
    return int(row[0])


def ask(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()  # type: ignore[call-overload]
    return row[0]
