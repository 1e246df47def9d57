"""Legal holds: while one stands, nothing of its classes is deleted, by age or on request."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.store.tables import legal_hold


class RecordClass(StrEnum):
    """What is kept for its own span of time."""

    REQUESTS = "requests"
    LABELS = "labels"
    SAMPLES = "samples"
    MEASUREMENTS = "measurements"
    ALERTS = "alerts"
    AUDIT = "audit"


DELETABLE = (RecordClass.REQUESTS, RecordClass.LABELS, RecordClass.SAMPLES)
"""Classes that anything is ever deleted of; the others are kept for good."""


@dataclass(frozen=True)
class Hold:
    """A legal hold; `model_id` None means every model of the project."""

    id: int
    model_id: int | None
    classes: tuple[RecordClass, ...]
    reason: str
    placed_by: str
    placed_at: datetime

    def covers(self, model_id: int, classes: Collection[RecordClass]) -> bool:
        """Whether it keeps anything of these classes of the model."""
        return self.model_id in (None, model_id) and bool(set(classes) & set(self.classes))


def place_hold(
    connection: Connection,
    project_id: int,
    model_id: int | None,
    classes: Iterable[str],
    *,
    reason: str,
    by: str,
) -> int:
    """Place a hold; its number. Raises ConfigurationError without a reason or for other classes."""
    wanted = list(dict.fromkeys(classes)) or [each.value for each in DELETABLE]
    unknown = [each for each in wanted if each not in set(DELETABLE)]
    problems = []
    if unknown:
        known = ", ".join(DELETABLE)
        told = f"{unknown[0]!r} is none of {known}; the other classes are never deleted"
        problems.append(Problem("class", told))
    if not reason.strip():
        problems.append(Problem("reason", "say why, for whoever may release it one day"))
    if problems:
        raise ConfigurationError("legal hold", problems)
    statement = sa.insert(legal_hold).values(
        project_id=project_id,
        model_id=model_id,
        classes=wanted,
        reason=reason.strip(),
        placed_by=by,
    )
    return int(connection.scalar(statement.returning(legal_hold.c.id)))


def release_hold(
    connection: Connection, project_id: int, number: int, *, reason: str, by: str, now: datetime
) -> None:
    """End a hold; UnknownSubject when none of this number stands. It takes a reason, too."""
    if not reason.strip():
        raise ConfigurationError("legal hold", [Problem("reason", "say why it may be released")])
    row = legal_hold.c
    done = connection.execute(
        sa.update(legal_hold)
        .where(row.project_id == project_id, row.id == number, row.released_at.is_(None))
        .values(released_by=by, released_at=now, release_reason=reason.strip())
    )
    if done.rowcount != 1:
        raise UnknownSubject(f"no hold {number} stands; `inferwatch retention show` lists them")


def standing_holds(connection: Connection, project_id: int) -> list[Hold]:
    """Holds that were not released, oldest first."""
    row = legal_hold.c
    query = sa.select(legal_hold).where(row.project_id == project_id, row.released_at.is_(None))
    return [
        Hold(
            each.id,
            each.model_id,
            tuple(RecordClass(name) for name in each.classes),
            each.reason,
            each.placed_by,
            each.placed_at,
        )
        for each in connection.execute(query.order_by(row.id))
    ]


def is_held(
    connection: Connection, project_id: int, model_id: int, classes: Collection[RecordClass]
) -> bool:
    """Whether a standing hold keeps anything of these classes of a model."""
    return any(each.covers(model_id, classes) for each in standing_holds(connection, project_id))
