"""Retention as people read it: each class of records, how long it is kept, what holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.contract import Contract
from monitor.store.deletions import certificates
from monitor.store.engine import Role, transaction
from monitor.store.holds import DELETABLE, Hold, RecordClass, standing_holds
from monitor.store.models import model_context, model_names, model_number
from monitor.store.tables import alert, audit_entry, label, measurement, request_log, sample

FOR_GOOD = "for good"


@dataclass(frozen=True)
class KeptClass:
    """One class of one model: its span, its oldest row, the numbers of the holds on it."""

    model: str
    kept_class: str
    kept: str
    oldest: datetime | None
    held_by: str


@dataclass(frozen=True)
class RetentionReport:
    """All of a project, with standing holds and the newest certificates."""

    rows: tuple[KeptClass, ...]
    holds: tuple[Mapping[str, Any], ...]
    certificates: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "classes": [asdict(row) for row in self.rows],
            "holds": list(self.holds),
            "certificates": list(self.certificates),
        }


def read_retention(engine: Engine, project_id: int) -> RetentionReport:
    """What is kept, and for how long, in a project."""
    with transaction(engine, project_id, Role.WORKER) as connection:
        holds = standing_holds(connection, project_id)
        names = {
            model_number(connection, project_id, name): name
            for name in model_names(connection, project_id)
        }
        rows: list[KeptClass] = []
        for number, name in names.items():
            found = model_context(connection, project_id, name, b"")
            if found is not None:
                rows += _classes(connection, project_id, number, found.contract, holds)
        told = [{**asdict(one), "model": names.get(one.model_id or 0)} for one in holds]
        return RetentionReport(
            tuple(rows), tuple(told), tuple(certificates(connection, project_id))
        )


def _classes(
    connection: Connection, project_id: int, number: int, contract: Contract, holds: list[Hold]
) -> list[KeptClass]:
    spans = {
        RecordClass.REQUESTS: contract.retention.requests_kept,
        RecordClass.LABELS: contract.retention.labels_kept,
        RecordClass.SAMPLES: contract.retention.requests_kept,
    }
    rows = []
    for each in RecordClass:
        held = [str(hold.id) for hold in holds if each in DELETABLE and hold.covers(number, {each})]
        oldest = _oldest(connection, project_id, number, contract.model, each)
        rows.append(
            KeptClass(contract.model, each.value, _span(spans.get(each)), oldest, ", ".join(held))
        )
    return rows


def _oldest(
    connection: Connection, project_id: int, number: int, name: str, kept: RecordClass
) -> datetime | None:
    moments = {
        RecordClass.REQUESTS: (request_log.c.event_time, request_log.c.model_id == number),
        RecordClass.LABELS: (label.c.observed_at, label.c.model_id == number),
        RecordClass.SAMPLES: (sample.c.day, sample.c.model_id == number),
        RecordClass.MEASUREMENTS: (measurement.c.window_start, measurement.c.model_id == number),
        RecordClass.ALERTS: (alert.c.since, alert.c.model == name),
        RecordClass.AUDIT: (audit_entry.c.at, sa.true()),
    }
    moment, mine = moments[kept]
    query = sa.select(sa.func.min(moment)).where(moment.table.c.project_id == project_id, mine)
    found: datetime | None = connection.scalar(query)
    return found


def _span(span: timedelta | None) -> str:
    return FOR_GOOD if span is None else f"{span.days} days"
