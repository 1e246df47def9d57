"""A database of the demo's own: fresh at the start, gone at the end unless it shall be kept.

With DATABASE_URL set, that database is used as it is, and nothing in it is dropped: every run
makes a project of its own there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monitor.errors import InferwatchError
from monitor.postgres.binaries import find_postgres_bin
from monitor.postgres.databases import create_database, drop_database
from monitor.postgres.readiness import APPLICATION_DATABASE
from monitor.postgres.server import EmbeddedServer
from monitor.postgres.status import RunningServer
from monitor.settings import Settings


@contextmanager
def demo_database(settings: Settings, home: Path, *, keep: bool) -> Iterator[str]:
    """The URL of the demo's database, usable until the block ends."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    server = EmbeddedServer(home, find_postgres_bin(settings.postgres_bin))
    running = server.start(child_of_this_process=True)
    if not running.started_here and running.parent is not None:
        raise InferwatchError(
            f"process {running.parent} already runs a demo in {home}; end it, or choose another "
            "folder with --home"
        )
    try:
        _renew(running)
        yield running.url
        if not keep:
            drop_database(running.admin_url, APPLICATION_DATABASE)
    finally:
        if running.started_here:
            server.stop()


def _renew(running: RunningServer) -> None:
    drop_database(running.admin_url, APPLICATION_DATABASE)
    create_database(running.admin_url, APPLICATION_DATABASE)
