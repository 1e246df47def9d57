"""Scrape targets: put in force as a whole, claimed when they are due, and how they went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from monitor.scrape_targets import ScrapeTarget
from monitor.store.tables import scrape_target

LONGEST_WAIT = timedelta(minutes=10)
"""A server that does not answer is asked less and less often, down to this."""


@dataclass(frozen=True)
class TargetState:
    """A target and how reading it went last. `told` says what the last page held, or an error."""

    target: ScrapeTarget
    tried_at: datetime | None
    read_at: datetime | None
    failures: int
    told: Mapping[str, Any]
    applied_at: datetime


def apply_targets(
    connection: Connection, project_id: int, targets: Sequence[ScrapeTarget], *, by: str
) -> tuple[int, int]:
    """Put targets in force in place of those there were; how many are in force, and were ended."""
    row = scrape_target.c
    names = [each.name for each in targets]
    ended = connection.execute(
        sa.delete(scrape_target).where(row.project_id == project_id, row.name.not_in(names))
    ).rowcount
    for each in targets:
        statement = insert(scrape_target).values(
            project_id=project_id, name=each.name, body=each.to_json(), applied_by=by
        )
        new = statement.excluded
        connection.execute(
            statement.on_conflict_do_update(
                constraint="pk_scrape_target",
                set_={"body": new.body, "applied_by": new.applied_by, "applied_at": sa.func.now(),
                      "next_at": sa.func.now(), "failures": 0},
                where=row.body.is_distinct_from(new.body),
            )
        )  # fmt: skip
    return len(names), ended


def claim_due(connection: Connection, project_id: int, now: datetime) -> list[ScrapeTarget]:
    """Targets that are due, put off by their pause: no other worker reads them meanwhile."""
    row = scrape_target.c
    due = (
        sa.select(row.name, row.body)
        .where(row.project_id == project_id, row.next_at <= now)
        .order_by(row.name)
        .with_for_update(skip_locked=True)
    )
    found = [ScrapeTarget.from_json(each.name, each.body) for each in connection.execute(due)]
    for target in found:
        connection.execute(
            sa.update(scrape_target)
            .where(row.project_id == project_id, row.name == target.name)
            .values(next_at=now + target.every, tried_at=now)
        )
    return found


def note_read(
    connection: Connection, project_id: int, name: str, told: Mapping[str, Any], now: datetime
) -> None:
    """A page was read and kept."""
    row = scrape_target.c
    connection.execute(
        sa.update(scrape_target)
        .where(row.project_id == project_id, row.name == name)
        .values(read_at=now, failures=0, told=dict(told))
    )


def note_failure(
    connection: Connection, project_id: int, target: ScrapeTarget, error: str, now: datetime
) -> None:
    """A page could not be read; the next try comes twice as late each time, to a limit."""
    row = scrape_target.c
    mine = sa.and_(row.project_id == project_id, row.name == target.name)
    failures = connection.scalar(sa.select(row.failures).where(mine)) or 0
    wait = min(LONGEST_WAIT, target.every * 2 ** min(failures, 10))
    connection.execute(
        sa.update(scrape_target)
        .where(mine)
        .values(failures=failures + 1, next_at=now + wait, told={"error": error[:500]})
    )


def target_states(connection: Connection, project_id: int) -> list[TargetState]:
    """All targets of a project, by name."""
    row = scrape_target.c
    query = sa.select(scrape_target).where(row.project_id == project_id).order_by(row.name)
    return [
        TargetState(
            ScrapeTarget.from_json(each.name, each.body), each.tried_at, each.read_at,
            each.failures, each.told, each.applied_at,
        )
        for each in connection.execute(query)
    ]  # fmt: skip
