"""What all sections of one report share: the connection, the model, the period, the moment.

Everything is read in one transaction, at one moment; rows that were written down after `known_by`
do not exist for a report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.config import AlertConfig
from monitor.deployment import Tags
from monitor.documents.parts import Cell
from monitor.errors import UnknownSubject
from monitor.reports.rules import configs_of
from monitor.store.tables import alert_config, contract, deployment, model, project, segment
from monitor.windows import Window


@dataclass(frozen=True)
class ContractVersion:
    """A contract as it was applied."""

    version: int
    body: Mapping[str, Any]
    by: str
    at: datetime


@dataclass(frozen=True)
class RulesVersion:
    """Alert rules as they were applied; `config` is None where they can't be read any more."""

    version: int
    source: str
    by: str
    at: datetime
    config: AlertConfig | None


class Material:
    """Reads what a section asks for; what several ask for is read once."""

    def __init__(
        self,
        engine: Engine,
        connection: Connection,
        project_id: int,
        name: str,
        period: Window,
        known_by: datetime,
    ) -> None:
        self.engine, self.connection, self.project_id = engine, connection, project_id
        self.period, self.known_by = period, known_by
        row = connection.execute(
            sa.select(model).where(
                model.c.project_id == project_id,
                model.c.name == name,
                model.c.created_at <= known_by,
            )
        ).one_or_none()
        if row is None:
            raise UnknownSubject(
                f"this project had no model {name!r} at {known_by:%Y-%m-%d %H:%M} UTC;"
                " a report needs one that was known then"
            )
        self.model = row
        self.model_id, self.name = int(row.id), str(row.name)

    @cached_property
    def project(self) -> str:
        """The project's name."""
        query = sa.select(project.c.name).where(project.c.id == self.project_id)
        return str(self.connection.scalar(query))

    @cached_property
    def contracts(self) -> tuple[ContractVersion, ...]:
        """All versions of the model's contract that were known, oldest first."""
        row = contract.c
        query = (
            sa.select(row.version, row.body, row.applied_by, row.applied_at)
            .where(row.project_id == self.project_id, row.model_id == self.model_id)
            .where(row.applied_at <= self.known_by)
            .order_by(row.version)
        )
        return tuple(
            ContractVersion(each.version, each.body, each.applied_by, each.applied_at)
            for each in self.connection.execute(query)
        )

    @cached_property
    def contract(self) -> ContractVersion:
        """The newest one that was known."""
        if not self.contracts:
            raise UnknownSubject(
                f"model {self.name!r} had no contract at {self.known_by:%Y-%m-%d %H:%M} UTC;"
                " ask for a later moment with --as-of"
            )
        return self.contracts[-1]

    @property
    def zone(self) -> str:
        """The contract's time zone."""
        return str(self.contract.body.get("time_zone", "UTC"))

    @cached_property
    def rules(self) -> tuple[RulesVersion, ...]:
        """All versions of the project's alert rules that were known, oldest first."""
        row = alert_config.c
        query = (
            sa.select(alert_config)
            .where(row.project_id == self.project_id, row.applied_at <= self.known_by)
            .order_by(row.version)
        )
        rows = list(self.connection.execute(query))
        read = configs_of(self.connection, self.project_id, [each.version for each in rows])
        return tuple(
            RulesVersion(r.version, r.source, r.applied_by, r.applied_at, read.get(r.version))
            for r in rows
        )

    def rules_at(self, moment: datetime) -> RulesVersion | None:
        """The rules in force at a moment."""
        return next((one for one in reversed(self.rules) if one.at <= moment), None)

    @cached_property
    def deployments(self) -> Mapping[int, tuple[str, Tags]]:
        """Title and tags by number, of all deployments that were known."""
        row = deployment.c
        query = (
            sa.select(deployment)
            .where(row.project_id == self.project_id, row.model_id == self.model_id)
            .where(row.first_seen_at <= self.known_by)
            .order_by(row.id)
        )
        return {
            each.id: (each.name or f"deployment {each.id}", Tags.of(each.tags))
            for each in self.connection.execute(query)
        }

    def titles(self, numbers: tuple[int, ...]) -> str:
        """Deployments by name, in order of their numbers."""
        return ", ".join(
            self.deployments[n][0] if n in self.deployments else f"deployment {n}" for n in numbers
        )

    @cached_property
    def segments(self) -> Mapping[int, str]:
        """Segments in words, by number; 0 is all requests."""
        row = segment.c
        query = sa.select(row.id, row.definition).where(
            row.project_id == self.project_id, row.model_id == self.model_id
        )
        found = {0: "all requests"}
        for each in self.connection.execute(query):
            parts = each.definition.items() if isinstance(each.definition, Mapping) else ()
            found[each.id] = " and ".join(f"{name} = {value}" for name, value in parts)
        return found


def text_of(value: Any) -> Cell:
    """A value of a stored body as a cell."""
    if value is None or isinstance(value, str | int | float | bool | datetime):
        return value
    if isinstance(value, list | tuple):
        return ", ".join(str(text_of(each)) for each in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {text_of(each)}" for name, each in value.items())
    return str(value)
