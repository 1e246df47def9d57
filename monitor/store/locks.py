"""Advisory locks: who waits for whom inside one model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.store.engine import Role, transaction

BLOCK_LOCK = 72_053
INCIDENT_LOCK = 72_055


@contextmanager
def blocks_locked(engine: Engine, project_id: int, model_id: int) -> Iterator[None]:
    """Prediction blocks of a model have one writer at a time: profiling and label joining meet.

    Enter it before the transaction that reads blocks, leave it after its commit. Waiting for the
    lock inside a REPEATABLE READ transaction would read what was there before the wait.
    """
    with transaction(engine, project_id, Role.WORKER) as holder:
        holder.execute(
            sa.text("select pg_advisory_xact_lock(:kind, :model)"),
            {"kind": BLOCK_LOCK, "model": model_id},
        )
        yield


def incidents_locked(connection: Connection, model_id: int) -> None:
    """Incidents of a model have one writer at a time; held until the transaction ends.

    Take it first in a READ COMMITTED transaction; model numbers are unique over projects.
    """
    connection.execute(
        sa.text("select pg_advisory_xact_lock(:kind, :model)"),
        {"kind": INCIDENT_LOCK, "model": model_id},
    )
