"""What was asked of deployment systems about one alert, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.tables import response_action

MAX_ACTIONS = 50


@dataclass(frozen=True)
class ActionLine:
    """One request of an action, carried out or refused; `reason` says why where it was refused.

    `returns` is the number of the action that this one takes back.
    """

    id: int
    episode: int
    response: str
    action: str
    state: str
    reason: str | None
    dry_run: bool
    drill: bool
    requested_by: str
    requested_at: datetime
    outcome: str | None
    outcome_detail: str | None
    outcome_by: str | None
    outcome_at: datetime | None
    outcome_due_at: datetime | None
    expires_at: datetime | None
    returns: int | None
    deployment_ids: tuple[int, ...]
    body: Mapping[str, Any]

    @property
    def title(self) -> str:
        """`Action 4, reduce traffic (dry run)`."""
        kind = "drill" if self.drill else "dry run" if self.dry_run else ""
        what = self.action.replace("_", " ")
        back = f", return of action {self.returns}" if self.returns is not None else ""
        return f"Action {self.id}, {what}{back}" + (f" ({kind})" if kind else "")


def actions_of(connection: Connection, project_id: int, alert_id: int) -> tuple[ActionLine, ...]:
    """Actions of an alert, at most MAX_ACTIONS, the newest first."""
    row = response_action.c
    names = list(ActionLine.__dataclass_fields__)
    query = (
        sa.select(*(row[name] for name in names))
        .where(row.project_id == project_id, row.alert_id == alert_id)
        .order_by(row.id.desc())
        .limit(MAX_ACTIONS)
    )
    return tuple(
        ActionLine(**{**each, "deployment_ids": tuple(each["deployment_ids"])})
        for each in connection.execute(query).mappings()
    )
