"""The seeded database with forty hostile strings in every place that takes text from outside."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.deployment import Tags
from monitor.store import tables
from monitor.store.engine import Role, transaction
from monitor.store.models import register_deployment
from tests.database import DatabaseServer
from tests.hostile_strings import HOSTILE
from tests.seeded_database import SeededDatabase, Template, copy_of

ALERT = "deployment-contrast/distance"


@pytest.fixture(scope="module")
def hostile(postgres_server: DatabaseServer, seeded_template: Template) -> Iterator[SeededDatabase]:
    for copy in copy_of(postgres_server, seeded_template):
        _poison(copy)
        yield copy


def _poison(copy: SeededDatabase) -> None:
    """Names, reasons, comments, tags, errors and files that hold all of the strings."""
    seeded, now = copy.seeded, copy.now
    key = {"project_id": seeded.project_id, "model_id": seeded.model_id}
    alert = seeded.alert_ids[ALERT]
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    with transaction(copy.engine, seeded.project_id, Role.OWNER) as connection:
        for place, text in enumerate(HOSTILE):
            at = now - timedelta(seconds=place)
            rows = {
                tables.rejection: {**key, "kind": text, "place": place, "reason": text,
                                   "message": text, "excerpt": text, "request_id": text,
                                   "received_at": at},
                tables.violation_example: {**key, "column_name": text, "reason": 6, "day": day,
                                           "example": text},
                tables.alert_transition: {
                    "project_id": seeded.project_id, "alert_id": alert, "at": at, "by": text,
                    "episode": 1, "from_state": "firing", "to_state": "firing",
                    "reason": "acknowledged", "comment": text, "body": {}},
                tables.job_window: {**key, "job": text, "window_start": seeded.window.start,
                                    "state": "failed", "fence": 1, "worker": text,
                                    "lease_until": now, "error": text},
                tables.contract: {**key, "version": 100 + place, "body": {}, "source": text,
                                  "layout": {}, "applied_by": text},
            }  # fmt: skip
            rows[tables.contract] |= _oldest_contract(connection, seeded.model_id)
            for table, values in rows.items():
                connection.execute(sa.insert(table).values(values))
            # Tags hold printable characters only; anything else is refused where it comes in.
            tag = f"{place} {''.join(each for each in text if each.isprintable())}"
            register_deployment(connection, seeded.project_id, seeded.model_id,
                                Tags.of({"model_version": tag}), tag, now)  # fmt: skip


def _oldest_contract(connection: Connection, model_id: int) -> dict[str, Any]:
    row = connection.execute(
        sa.select(tables.contract.c.body, tables.contract.c.layout)
        .where(tables.contract.c.model_id == model_id)
        .order_by(tables.contract.c.version)
        .limit(1)
    ).one()
    return dict(row._mapping)
