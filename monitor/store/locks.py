"""Advisory locks: who waits for whom inside one model."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

BLOCK_LOCK = 72_053


def lock_blocks(connection: Connection, model_id: int) -> None:
    """Prediction blocks of a model have one writer at a time: profiling and label joining meet."""
    connection.execute(
        sa.text("select pg_advisory_xact_lock(:kind, :model)"),
        {"kind": BLOCK_LOCK, "model": model_id},
    )
