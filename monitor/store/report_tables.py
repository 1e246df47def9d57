"""Scheduled reports: who wants which one when, and those that were built."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from monitor.store.metadata import identity, metadata, model_key, of_model, when

report_schedule = Table(
    "report_schedule",
    metadata,
    identity(),
    *model_key(),
    Column("every", Text, nullable=False),
    Column("zone", Text, nullable=False),
    Column("form", Text, nullable=False),
    Column("receiver", Text),
    Column("created_by", Text, nullable=False),
    when("created_at", now=True),
    when("next_at"),
    Column("ended_by", Text),
    when("ended_at", nullable=True),
    CheckConstraint("every in ('day', 'week', 'month')", name="every"),
    Index(
        "ix_report_schedule_due",
        *("project_id", "next_at"),
        postgresql_where=text("ended_at is null"),
    ),
    of_model(),
)
"""`next_at`: from when on the report of the period that ended before it can be built."""

report_built = Table(
    "report_built",
    metadata,
    identity(BigInteger),
    *model_key(),
    Column("schedule_id", Integer, nullable=False),
    when("period_start"),
    when("period_end"),
    when("as_known_at"),
    Column("form", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("delivery_key", Text),
    UniqueConstraint("project_id", "schedule_id", "period_start"),
    ForeignKeyConstraint(["schedule_id"], ["report_schedule.id"]),
    Index("ix_report_built_model", "project_id", "model_id", "id"),
    of_model(),
)
"""One a schedule and period, whoever built it."""
