"""Tables of the promise about drift alarms: what was learned from healthy weeks, and incidents."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import JSONB

from monitor.store.metadata import identity, metadata, model_key, of_model, when

seasonal_baseline = Table(
    "seasonal_baseline",
    metadata,
    *model_key(),
    Column("leg", Text, nullable=False),
    when("week_start"),
    Column("binning_id", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("weeks", JSONB, nullable=False),
    Column("summary", JSONB, nullable=False),
    Column("body", LargeBinary),
    when("made_at", now=True),
    PrimaryKeyConstraint("project_id", "model_id", "leg", "week_start"),
    of_model(),
)

incident = Table(
    "incident",
    metadata,
    identity(BigInteger),
    *model_key(),
    Column("leg", Text, nullable=False),
    Column("state", Text, nullable=False),
    when("opened_at"),
    when("last_at"),
    when("until_at"),
    when("closed_at", nullable=True),
    Column("leading_column", Text, nullable=False),
    Column("body", JSONB, nullable=False),
    Column("context", JSONB),
    Column("verdict", Text),
    Column("verdict_by", Text),
    Column("verdict_comment", Text),
    when("verdict_at", nullable=True),
    CheckConstraint("state in ('open', 'closed')", name="state"),
    CheckConstraint("verdict in ('fault', 'adopt', 'false_alarm')", name="verdict"),
    CheckConstraint("(state = 'closed') = (closed_at is not null)", name="closed_when_closed"),
    CheckConstraint("(verdict is null) = (verdict_by is null)", name="verdict_has_author"),
    Index("ix_incident_model", "project_id", "model_id", "opened_at"),
    of_model(),
)
