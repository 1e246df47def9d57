"""Tables of the promise about drift alarms: seasonal baselines and incidents.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Text
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None
phase = "pre"

PROJECT = "project_id = nullif(current_setting('app.project', true), '')::int"
TABLES = ("seasonal_baseline", "incident")
VERDICT = "verdict, verdict_by, verdict_comment, verdict_at"


def upgrade() -> None:
    op.create_table(
        "seasonal_baseline",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("leg", sa.Text(), nullable=False),
        sa.Column("week_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("binning_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("weeks", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.Column("summary", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column(
            "made_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "model_id"],
            ["model.project_id", "model.id"],
            name=op.f("fk_seasonal_baseline_project_id_model_id"),
        ),
        sa.PrimaryKeyConstraint(
            "project_id", "model_id", "leg", "week_start", name=op.f("pk_seasonal_baseline")
        ),
    )
    op.create_table(
        "incident",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("leg", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leading_column", sa.Text(), nullable=False),
        sa.Column("body", postgresql.JSONB(astext_type=Text()), nullable=False),
        sa.Column("context", postgresql.JSONB(astext_type=Text()), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("verdict_by", sa.Text(), nullable=True),
        sa.Column("verdict_comment", sa.Text(), nullable=True),
        sa.Column("verdict_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state in ('open', 'closed')", name=op.f("ck_incident_state")),
        sa.CheckConstraint(
            "verdict in ('fault', 'adopt', 'false_alarm')", name=op.f("ck_incident_verdict")
        ),
        sa.CheckConstraint(
            "(state = 'closed') = (closed_at is not null)",
            name=op.f("ck_incident_closed_when_closed"),
        ),
        sa.CheckConstraint(
            "(verdict is null) = (verdict_by is null)", name=op.f("ck_incident_verdict_has_author")
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "model_id"],
            ["model.project_id", "model.id"],
            name=op.f("fk_incident_project_id_model_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident")),
    )
    op.create_index(
        "ix_incident_model", "incident", ["project_id", "model_id", "opened_at"], unique=False
    )
    for table in TABLES:
        op.execute(f"alter table {table} enable row level security, force row level security")
        op.execute(f"create policy own_project on {table} using ({PROJECT}) with check ({PROJECT})")
        op.execute(f"grant select, insert, update on {table} to inferwatch_worker")
        op.execute(f"grant select on {table} to inferwatch_dashboard, inferwatch_export")
    # People judge incidents on the dashboard; everything else about them is the worker's.
    op.execute(f"grant update ({VERDICT}) on incident to inferwatch_dashboard")
    # The body is compressed already; a second compression would only cost time.
    op.execute("alter table seasonal_baseline alter column body set storage external")
