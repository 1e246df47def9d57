"""Scheduled reports, and those that were built.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None
phase = "pre"

PROJECT = "project_id = nullif(current_setting('app.project', true), '')::int"
TABLES = ("report_schedule", "report_built")


def _moment(name, nullable=False, now=False):
    default = sa.text("now()") if now else None
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable, server_default=default)


def _of_model(table):
    return sa.ForeignKeyConstraint(
        ["project_id", "model_id"],
        ["model.project_id", "model.id"],
        name=op.f(f"fk_{table}_project_id_model_id_model"),
    )


def upgrade() -> None:
    op.create_table(
        "report_schedule",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("every", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("form", sa.Text(), nullable=False),
        sa.Column("receiver", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        _moment("created_at", now=True),
        _moment("next_at"),
        sa.Column("ended_by", sa.Text(), nullable=True),
        _moment("ended_at", nullable=True),
        sa.CheckConstraint("every in ('day', 'week', 'month')", name=op.f("ck_report_schedule_every")),
        _of_model("report_schedule"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report_schedule")),
    )
    op.create_index(
        "ix_report_schedule_due", "report_schedule", ["project_id", "next_at"], unique=False,
        postgresql_where=sa.text("ended_at is null"),
    )
    op.create_table(
        "report_built",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("schedule_id", sa.Integer(), nullable=False),
        _moment("period_start"),
        _moment("period_end"),
        _moment("as_known_at"),
        sa.Column("form", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("delivery_key", sa.Text(), nullable=True),
        _of_model("report_built"),
        sa.ForeignKeyConstraint(
            ["schedule_id"], ["report_schedule.id"],
            name=op.f("fk_report_built_schedule_id_report_schedule"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report_built")),
        sa.UniqueConstraint(
            "project_id", "schedule_id", "period_start", name=op.f("uq_report_built_project_id_schedule_id_period_start")
        ),
    )
    op.create_index(
        "ix_report_built_model", "report_built", ["project_id", "model_id", "id"], unique=False
    )
    for table in TABLES:
        op.execute(f"alter table {table} enable row level security, force row level security")
        op.execute(f"create policy own_project on {table} using ({PROJECT}) with check ({PROJECT})")
        op.execute(f"grant select on {table} to inferwatch_dashboard, inferwatch_export")
    op.execute("grant select, update on report_schedule to inferwatch_worker")
    op.execute("grant select, insert, update on report_built to inferwatch_worker")

