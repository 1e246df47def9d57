"""Tables of what producers tell beside requests: servers' metrics and where they are read."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from monitor.store.metadata import identity, metadata, model_key, of_model, when

server_series = Table(
    "server_series",
    metadata,
    Column("project_id", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("series", Text, nullable=False),
    Column("start_key", Text, nullable=False),
    when("at"),
    Column("body", JSONB, nullable=False),
    PrimaryKeyConstraint("project_id", "source", "series", "start_key"),
    Index("ix_server_series_at", "project_id", "at"),
)
"""What each series of a server's metrics said last, by when it began to count."""

server_reading = Table(
    "server_reading",
    metadata,
    *model_key(),
    Column("reading", Text, nullable=False),
    when("minute"),
    Column("source", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("n", Double, nullable=False),
    Column("total", Double, nullable=False),
    Column("low", Double),
    Column("high", Double),
    Column("seconds", Double, nullable=False),
    Column("buckets", JSONB(none_as_null=True)),
    PrimaryKeyConstraint("project_id", "model_id", "reading", "minute", "source", "version"),
    of_model(),
    Index("ix_server_reading_minute", "project_id", "minute"),
)
"""What servers told of themselves, a minute a row. `source` is a scrape target or a process."""

scrape_target = Table(
    "scrape_target",
    metadata,
    Column("project_id", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", JSONB, nullable=False),
    Column("applied_by", Text, nullable=False),
    when("applied_at", now=True),
    when("next_at", now=True),
    when("tried_at", nullable=True),
    when("read_at", nullable=True),
    Column("failures", Integer, nullable=False, server_default=text("0")),
    Column("told", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    PrimaryKeyConstraint("project_id", "name"),
    ForeignKeyConstraint(["project_id"], ["project.id"]),
)
"""Servers whose metrics are read now and then, and how the last tries went."""

deployment_registration = Table(
    "deployment_registration",
    metadata,
    identity(),
    *model_key(),
    Column("deployment_id", Integer, nullable=False),
    Column("joins", JSONB, nullable=False),
    when("valid_from"),
    when("valid_to", nullable=True),
    Column("evidence", JSONB),
    when("registered_at"),
    of_model(),
    Index("ix_deployment_registration_model", "project_id", "model_id", "valid_from"),
)
"""Which deployment ran where and when, as somebody registered it. A row is never changed."""

tag_conflict = Table(
    "tag_conflict",
    metadata,
    *model_key(),
    Column("digest", Text, nullable=False),
    Column("tag", Text, nullable=False),
    Column("used", Text),
    Column("used_source", Text, nullable=False),
    Column("other", Text, nullable=False),
    Column("other_source", Text, nullable=False),
    Column("requests", BigInteger, nullable=False),
    when("first_at"),
    when("last_at"),
    PrimaryKeyConstraint("project_id", "model_id", "digest"),
    of_model(),
)
"""Two sources that contradict each other on a tag; `requests` counts those told, again ones too."""

tag_source = Table(
    "tag_source",
    metadata,
    *model_key(),
    Column("digest", Text, nullable=False),
    Column("tag", Text, nullable=False),
    Column("source", Text, nullable=False),
    when("first_at"),
    PrimaryKeyConstraint("project_id", "model_id", "digest", "tag", "source"),
    of_model(),
)
"""Who said the tags of a deployment (by its digest): the request, its resource, a registration."""
