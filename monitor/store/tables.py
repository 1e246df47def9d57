"""Every table, in one metadata: who writes it, its key, and the constraints that guard it.

Raw intake (`request_log`, `label`, `intake_mark`, `intake_batch`, `label_mark`) has no row-level
security, because COPY refuses it: roles of least right stand in its place. All other tables with a
project_id have FORCE ROW LEVEL SECURITY (see the first migration).
"""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from monitor.store.access_tables import (
    account,
    login_attempt,
    membership,
    one_time_link,
    session,
)
from monitor.store.alert_tables import (
    alert,
    alert_config,
    alert_transition,
    delivery,
    delivery_attempt,
    notice_clock,
    receiver_state,
    rehearsal,
    response_action,
    response_switch,
    silence,
)
from monitor.store.evidence_tables import (
    audit_due,
    audit_entry,
    audit_head,
    deletion,
    legal_hold,
)
from monitor.store.metadata import identity, metadata, model_key, of_model, when
from monitor.store.producer_tables import (
    deployment_registration,
    scrape_target,
    server_reading,
    server_series,
    tag_conflict,
    tag_source,
)
from monitor.store.promise_tables import incident, seasonal_baseline
from monitor.store.quality_tables import (
    comparison,
    delay_curve,
    estimator,
    explanation,
    golden_run,
    golden_set,
    review_draw,
    review_item,
)
from monitor.store.report_tables import report_built, report_schedule

project = Table(
    "project",
    metadata,
    identity(),
    Column("name", Text, nullable=False, unique=True),
    Column("hash_key", LargeBinary, nullable=False),
    when("created_at", now=True),
    CheckConstraint("octet_length(hash_key) = 16", name="hash_key_length"),
)

api_key = Table(
    "api_key",
    metadata,
    identity(),
    Column("project_id", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("prefix", Text, nullable=False, unique=True),
    Column("digest", LargeBinary, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("created_by", Text, nullable=False),
    when("created_at", now=True),
    when("expires_at", nullable=True),
    when("revoked_at", nullable=True),
    ForeignKeyConstraint(["project_id"], ["project.id"]),
)

model = Table(
    "model",
    metadata,
    Column("project_id", Integer, nullable=False),
    Column("id", Integer, Identity(always=True), nullable=False),
    Column("name", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("risk_tier", Text, nullable=False),
    when("created_at", now=True),
    when("retired_at", nullable=True),
    Column("retired_by", Text),
    PrimaryKeyConstraint("project_id", "id"),
    UniqueConstraint("id"),
    UniqueConstraint("project_id", "name"),
    ForeignKeyConstraint(["project_id"], ["project.id"]),
)

contract = Table(
    "contract",
    metadata,
    *model_key(),
    Column("version", Integer, nullable=False),
    Column("body", JSONB, nullable=False),
    Column("source", Text, nullable=False),
    Column("layout", JSONB, nullable=False),
    Column("applied_by", Text, nullable=False),
    when("applied_at", now=True),
    PrimaryKeyConstraint("project_id", "model_id", "version"),
    of_model(),
)

deployment = Table(
    "deployment",
    metadata,
    identity(),
    *model_key(),
    Column("digest", Text, nullable=False),
    Column("tags", JSONB, nullable=False),
    Column("name", Text),
    Column("overflow", Boolean, nullable=False, server_default=text("false")),
    when("first_seen_at", now=True),
    UniqueConstraint("project_id", "model_id", "digest"),
    UniqueConstraint("project_id", "model_id", "name"),
    of_model(),
)

segment = Table(
    "segment",
    metadata,
    identity(),
    *model_key(),
    Column("definition", JSONB, nullable=False),
    UniqueConstraint("project_id", "model_id", "definition"),
    of_model(),
)

request_log = Table(
    "request_log",
    metadata,
    *model_key(),
    Column("leg", Text, nullable=False),
    when("event_time"),
    Column("request_id", Text, nullable=False),
    Column("deployment_id", Integer, nullable=False),
    Column("contract_version", Integer, nullable=False),
    Column("outcome", SmallInteger, nullable=False),
    Column("outcome_reason", Text),
    when("received_at"),
    Column("violations", ARRAY(Integer)),
    Column("numbers", ARRAY(Double), nullable=False),
    Column("texts", ARRAY(Text), nullable=False),
    PrimaryKeyConstraint("project_id", "model_id", "leg", "event_time", "request_id"),
    postgresql_partition_by="RANGE (event_time)",
)

intake_batch = Table(
    "intake_batch",
    metadata,
    identity(BigInteger),
    *model_key(),
    Column("kind", Text, nullable=False),
    when("received_at", now=True),
    Column("accepted", Integer, nullable=False),
    Column("duplicate", Integer, nullable=False),
    Column("conflict", Integer, nullable=False),
    Column("rejected", Integer, nullable=False),
    Column("violations", Integer, nullable=False),
    CheckConstraint("kind in ('requests', 'labels')", name="kind"),
    Index("ix_intake_batch_model", "project_id", "model_id", "received_at"),
)

intake_mark = Table(
    "intake_mark",
    metadata,
    identity(BigInteger),
    *model_key(),
    Column("leg", Text, nullable=False),
    Column("grain", Integer, nullable=False),
    when("window_start"),
    Column("n", Integer, nullable=False),
    Index("ix_intake_mark_window", "project_id", "model_id", "grain", "window_start"),
)

intake_part = Table(
    "intake_part",
    metadata,
    Column("project_id", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("group_key", Text, nullable=False),
    Column("part_key", Text, nullable=False),
    Column("model_id", Integer),
    Column("body", LargeBinary, nullable=False),
    when("received_at"),
    when("due_at"),
    Column("done", Boolean, nullable=False, server_default=text("false")),
    PrimaryKeyConstraint("project_id", "kind", "group_key", "part_key"),
    Index("ix_intake_part_due", "project_id", "due_at", postgresql_where=text("not done")),
    Index("ix_intake_part_old", "project_id", "due_at", postgresql_where=text("done")),
)

rejection = Table(
    "rejection",
    metadata,
    identity(BigInteger),
    Column("project_id", Integer, nullable=False),
    Column("model_id", Integer),
    Column("kind", Text, nullable=False),
    Column("place", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("request_id", Text),
    Column("excerpt", Text, nullable=False),
    when("received_at", now=True),
    Column("sent_with", Text),
    Column("producer", Text),
    Index("ix_rejection_model", "project_id", "model_id", "received_at"),
)

violation_example = Table(
    "violation_example",
    metadata,
    *model_key(),
    Column("column_name", Text, nullable=False),
    Column("reason", SmallInteger, nullable=False),
    Column("day", DateTime(timezone=True), nullable=False),
    Column("example", Text, nullable=False),
    PrimaryKeyConstraint("project_id", "model_id", "column_name", "reason", "day"),
)

label = Table(
    "label",
    metadata,
    *model_key(),
    Column("label_name", Text, nullable=False),
    when("observed_at"),
    Column("request_id", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("revision", SmallInteger, nullable=False, server_default=text("0")),
    when("arrived_at"),
    when("event_time", nullable=True),
    Column("leg", Text, nullable=False),
    Column("value", Double),
    Column("text", Text),
    PrimaryKeyConstraint(
        "project_id", "model_id", "label_name", "observed_at", "request_id", "source", "revision"
    ),
    CheckConstraint("(value is null) <> (text is null)", name="one_value"),
    postgresql_partition_by="RANGE (observed_at)",
)

label_mark = Table(
    "label_mark",
    metadata,
    identity(BigInteger),
    *model_key(),
    when("first_observed_at"),
    when("last_observed_at"),
    when("arrived_at"),
    Column("n", Integer, nullable=False),
    Index("ix_label_mark_model", "project_id", "model_id", "id"),
)

label_orphan = Table(
    "label_orphan",
    metadata,
    *model_key(),
    Column("label_name", Text, nullable=False),
    Column("request_key", BigInteger, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("source", Text, nullable=False),
    when("observed_at"),
    when("arrived_at"),
    when("event_time", nullable=True),
    Column("leg", Text, nullable=False),
    Column("value", Double),
    Column("text", Text),
    Column("reason", Text, nullable=False),
    PrimaryKeyConstraint(
        "project_id", "model_id", "label_name", "request_key", "source", "observed_at", "arrived_at"
    ),
)

binning = Table(
    "binning",
    metadata,
    identity(),
    *model_key(),
    Column("version", Integer, nullable=False),
    Column("body", JSONB, nullable=False),
    Column("source", Text, nullable=False),
    Column("retired", Boolean, nullable=False, server_default=text("false")),
    when("created_at", now=True),
    UniqueConstraint("project_id", "model_id", "version"),
    of_model(),
)

baseline = Table(
    "baseline",
    metadata,
    identity(),
    *model_key(),
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("binning_id", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("source", Text, nullable=False),
    when("window_start", nullable=True),
    when("window_end", nullable=True),
    Column("n", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("sample", LargeBinary),
    Column("created_by", Text, nullable=False),
    when("created_at", now=True),
    UniqueConstraint("project_id", "model_id", "name", "version"),
    CheckConstraint("kind in ('file', 'production')", name="kind"),
    of_model(),
)

profile = Table(
    "profile",
    metadata,
    *model_key(),
    Column("deployment_id", Integer, nullable=False),
    Column("leg", Text, nullable=False),
    Column("segment_id", Integer, nullable=False),
    Column("binning_id", Integer, nullable=False),
    Column("part", SmallInteger, nullable=False),
    Column("grain", Integer, nullable=False),
    when("window_start"),
    Column("contract_version", Integer, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint(
        "project_id",
        "model_id",
        "part",
        "grain",
        "segment_id",
        "binning_id",
        "window_start",
        "deployment_id",
        "leg",
    ),
)

prediction_block = Table(
    "prediction_block",
    metadata,
    *model_key(),
    when("window_start"),
    Column("deployment_id", Integer, nullable=False),
    Column("leg", Text, nullable=False),
    Column("n", Integer, nullable=False),
    Column("labelled", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("project_id", "model_id", "window_start", "deployment_id", "leg"),
)

sample = Table(
    "sample",
    metadata,
    *model_key(),
    when("day"),
    Column("deployment_id", Integer, nullable=False),
    Column("leg", Text, nullable=False),
    Column("n", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("project_id", "model_id", "day", "deployment_id", "leg"),
)

job_window = Table(
    "job_window",
    metadata,
    Column("project_id", Integer, nullable=False),
    Column("model_id", Integer, nullable=False),
    Column("job", Text, nullable=False),
    when("window_start"),
    Column("state", Text, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("worker", Text, nullable=False),
    when("lease_until"),
    Column("runs", Integer, nullable=False, server_default=text("0")),
    Column("failures", Integer, nullable=False, server_default=text("0")),
    Column("rows_read", BigInteger),
    when("started_at", now=True),
    when("finished_at", nullable=True),
    Column("error", Text),
    PrimaryKeyConstraint("project_id", "model_id", "job", "window_start"),
    CheckConstraint("state in ('due', 'running', 'done', 'failed')", name="state"),
    Index("ix_job_window_open", "project_id", "job", postgresql_where=text("state <> 'done'")),
    Index("ix_job_window_finished", "project_id", "finished_at"),
    Index("ix_job_window_newest", "project_id", "window_start"),
)

heartbeat = Table(
    "heartbeat",
    metadata,
    Column("worker", Text, primary_key=True),
    Column("role", Text, nullable=False),
    when("started_at"),
    when("beat_at"),
)

measurement = Table(
    "measurement",
    metadata,
    identity(BigInteger),
    *model_key(),
    Column("check_name", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("method_version", SmallInteger, nullable=False),
    Column("deployment_ids", ARRAY(Integer), nullable=False),
    Column("leg", Text, nullable=False),
    Column("segment_id", Integer, nullable=False),
    Column("column_name", Text, nullable=False),
    when("window_start"),
    when("window_end"),
    Column("baseline_id", Integer),
    Column("state", Text, nullable=False),
    Column("value", Double),
    Column("low", Double),
    Column("high", Double),
    Column("level", Double),
    Column("n", BigInteger, nullable=False),
    Column("n_reference", BigInteger),
    Column("unit", Text, nullable=False),
    Column("direction", Text, nullable=False),
    Column("reason", Text),
    Column("detail", JSONB, nullable=False),
    when("known_at"),
    UniqueConstraint(
        "project_id",
        "model_id",
        "check_name",
        "method",
        "column_name",
        "segment_id",
        "leg",
        "deployment_ids",
        "window_start",
        "window_end",
        "baseline_id",
        "known_at",
        name="uq_measurement_identity",
        postgresql_nulls_not_distinct=True,
    ),
    CheckConstraint("state in ('measured', 'too_few', 'failed')", name="state"),
    CheckConstraint("(state = 'measured') = (value is not null)", name="value_when_measured"),
    CheckConstraint("(state = 'measured') = (reason is null)", name="reason_when_not_measured"),
    CheckConstraint("cardinality(deployment_ids) > 0", name="has_deployment"),
    Index("ix_measurement_read", "project_id", "model_id", "check_name", "window_end"),
)

__all__ = (
    "account",
    "alert",
    "alert_config",
    "alert_transition",
    "audit_due",
    "audit_entry",
    "audit_head",
    "comparison",
    "delay_curve",
    "deletion",
    "delivery",
    "delivery_attempt",
    "deployment_registration",
    "estimator",
    "explanation",
    "golden_run",
    "golden_set",
    "incident",
    "legal_hold",
    "login_attempt",
    "membership",
    "metadata",
    "notice_clock",
    "one_time_link",
    "receiver_state",
    "rehearsal",
    "report_built",
    "report_schedule",
    "response_action",
    "response_switch",
    "review_draw",
    "review_item",
    "scrape_target",
    "seasonal_baseline",
    "server_reading",
    "server_series",
    "session",
    "silence",
    "tag_conflict",
    "tag_source",
)

WITHOUT_ROW_SECURITY = frozenset(
    {
        "project",
        "api_key",
        "request_log",
        "label",
        "intake_mark",
        "intake_batch",
        "label_mark",
        "heartbeat",
        "account",
        "membership",
        "session",
        "one_time_link",
        "login_attempt",
    }
)
