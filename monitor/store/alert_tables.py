"""Tables of alerting: rules in force, alerts, what was owed and sent, silences, responses, drills.

Each holds the parts that are looked for as columns, and the rest as one JSON body.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from monitor.store.metadata import identity, metadata, when

alert_config = Table(
    "alert_config",
    metadata,
    Column("project_id", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("applied_by", Text, nullable=False),
    when("applied_at", now=True),
    PrimaryKeyConstraint("project_id", "version"),
)

alert = Table(
    "alert",
    metadata,
    identity(BigInteger),
    Column("project_id", Integer, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("data_state", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("response", Text, nullable=False),
    Column("episode", Integer, nullable=False),
    when("since"),
    when("fired_at", nullable=True),
    when("resolved_at", nullable=True),
    Column("resolved_reason", Text),
    Column("acknowledged_by", Text),
    when("acknowledged_at", nullable=True),
    Column("body", JSONB, nullable=False),
    Column("config_version", Integer, nullable=False),
    Column("standing", Text, nullable=False, server_default=text("'new'")),
    when("noticed_at", nullable=True),
    when("snoozed_until", nullable=True),
    Column("settled", Boolean, nullable=False, server_default=text("false")),
    UniqueConstraint("project_id", "fingerprint"),
    Index("ix_alert_state", "project_id", "state"),
    Index("ix_alert_unsettled", "project_id", postgresql_where=text("not settled")),
)

alert_transition = Table(
    "alert_transition",
    metadata,
    identity(BigInteger),
    Column("project_id", Integer, nullable=False),
    Column("alert_id", BigInteger, nullable=False),
    Column("episode", Integer, nullable=False),
    Column("from_state", Text, nullable=False),
    Column("to_state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("by", Text),
    Column("comment", Text),
    when("at"),
    when("recorded_at", now=True),
    Column("body", JSONB, nullable=False),
    ForeignKeyConstraint(["alert_id"], ["alert.id"]),
    Index("ix_alert_transition_alert", "project_id", "alert_id", "id"),
)

delivery = Table(
    "delivery",
    metadata,
    identity(BigInteger),
    Column("project_id", Integer, nullable=False),
    Column("delivery_key", Text, nullable=False),
    Column("receiver", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("body", JSONB, nullable=False),
    Column("alert_ids", ARRAY(BigInteger), nullable=False),
    Column("group_key", Text, nullable=False, server_default=text("''")),
    Column("state", Text, nullable=False, server_default=text("'waiting'")),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    when("created_at", now=True),
    when("due_at"),
    when("lease_until", nullable=True),
    Column("leased_by", Text),
    when("finished_at", nullable=True),
    when("resent_at", nullable=True),
    Column("fallback_key", Text),
    UniqueConstraint("project_id", "delivery_key"),
    CheckConstraint("state in ('waiting', 'sent', 'dead')", name="state"),
    Index(
        "ix_delivery_waiting", "project_id", "due_at", postgresql_where=text("state = 'waiting'")
    ),
    Index("ix_delivery_created", "project_id", "created_at"),
    Index(
        "ix_delivery_order",
        *("project_id", "receiver", "group_key", "id"),
        postgresql_where=text("state = 'waiting'"),
    ),
    Index(
        "ix_delivery_untold",
        *("project_id", "receiver", "id"),
        postgresql_where=text("state = 'dead' and fallback_key is null"),
    ),
)
"""`resent_at`: a person had a dead letter sent again. `fallback_key`: the message that told the
fallback receiver of a dead letter."""

delivery_attempt = Table(
    "delivery_attempt",
    metadata,
    identity(BigInteger),
    Column("project_id", Integer, nullable=False),
    Column("delivery_id", BigInteger, nullable=False),
    Column("attempt", Integer, nullable=False),
    when("at", now=True),
    Column("outcome", Text, nullable=False),
    Column("detail", Text, nullable=False),
    ForeignKeyConstraint(["delivery_id"], ["delivery.id"]),
    Index("ix_delivery_attempt_delivery", "project_id", "delivery_id", "id"),
)

silence = Table(
    "silence",
    metadata,
    identity(BigInteger),
    Column("project_id", Integer, nullable=False),
    Column("matchers", JSONB, nullable=False),
    Column("author", Text, nullable=False),
    Column("reason", Text, nullable=False),
    when("starts_at"),
    when("ends_at"),
    when("created_at", now=True),
    Column("ended_by", Text),
    when("ended_at", nullable=True),
    CheckConstraint("ends_at >= starts_at", name="span"),
    Index("ix_silence_ends", "project_id", "ends_at"),
)
"""Kept for good: `ends_at` moves back when somebody ends one early."""

receiver_state = Table(
    "receiver_state",
    metadata,
    Column("project_id", Integer, nullable=False),
    Column("receiver", Text, nullable=False),
    when("disabled_at", nullable=True),
    when("not_before", nullable=True),
    Column("reason", Text),
    Column("changed_by", Text, nullable=False),
    when("changed_at", now=True),
    PrimaryKeyConstraint("project_id", "receiver"),
)
"""A receiver that asked to be sent nothing any more (410) until a person enables it, or nothing
before a moment (Retry-After)."""

notice_clock = Table(
    "notice_clock",
    metadata,
    Column("project_id", Integer, primary_key=True, autoincrement=False),
    when("due_at", nullable=True),
)
"""When the notifications of a project must be planned next; changes of alerts set it to now."""

response_action = Table(
    "response_action",
    metadata,
    identity(BigInteger),
    Column("project_id", Integer, nullable=False),
    Column("alert_id", BigInteger),
    Column("episode", Integer, nullable=False),
    Column("rule", Text, nullable=False),
    Column("response", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("deployment_ids", ARRAY(Integer), nullable=False),
    Column("dry_run", Boolean, nullable=False),
    Column("drill", Boolean, nullable=False, server_default=text("false")),
    Column("state", Text, nullable=False),
    Column("reason", Text),
    Column("requested_by", Text, nullable=False),
    when("requested_at"),
    Column("delivery_key", Text),
    Column("outcome", Text),
    Column("outcome_detail", Text),
    Column("outcome_by", Text),
    when("outcome_at", nullable=True),
    when("outcome_due_at", nullable=True),
    when("expires_at", nullable=True),
    Column("returns", BigInteger),
    Column("body", JSONB, nullable=False),
    ForeignKeyConstraint(["alert_id"], ["alert.id"]),
    CheckConstraint(
        "state in ('refused', 'waiting', 'requested', 'done', 'failed', 'returned')", name="state"
    ),
    Index("ix_response_action_model", "project_id", "model", "requested_at"),
    Index("ix_response_action_alert", "project_id", "alert_id"),
    UniqueConstraint("project_id", "delivery_key"),
    Index(
        "ix_response_action_open",
        "project_id",
        postgresql_where=text("state in ('waiting', 'requested', 'done')"),
    ),
)
"""What was asked of a deployment system, or refused, and what became of it."""

response_switch = Table(
    "response_switch",
    metadata,
    identity(),
    Column("project_id", Integer, nullable=False),
    Column("stopped", Boolean, nullable=False),
    Column("by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    when("at", now=True),
)
"""The kill switch of automatic actions: the newest row holds."""

rehearsal = Table(
    "rehearsal",
    metadata,
    identity(),
    Column("project_id", Integer, nullable=False),
    Column("rule", Text, nullable=False),
    Column("config_version", Integer, nullable=False),
    Column("by", Text, nullable=False),
    when("at"),
    Column("passed", Boolean, nullable=False),
    Column("body", JSONB, nullable=False),
    Index("ix_rehearsal_rule", "project_id", "rule", "at"),
)
"""Drills: the whole chain of a rule, from reading to outcome, step by step in `body`."""
