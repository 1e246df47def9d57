"""Traffic from where it already is: parts of requests.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None
phase = "pre"

PROJECT = "project_id = nullif(current_setting('app.project', true), '')::int"
TABLES = (
    "intake_part",
    "server_series",
    "server_reading",
    "scrape_target",
    "deployment_registration",
    "tag_conflict",
    "tag_source",
)


def upgrade() -> None:
    # Never written by any release: `intake_part` takes requests of any number of pieces.
    op.drop_table("intake_half")
    op.create_table(
        "intake_part",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("group_key", sa.Text(), nullable=False),
        sa.Column("part_key", sa.Text(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("done", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "kind", "group_key", "part_key", name=op.f("pk_intake_part")
        ),
    )
    op.create_index(
        "ix_intake_part_due",
        "intake_part",
        ["project_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("not done"),
    )
    op.create_index(
        "ix_intake_part_old",
        "intake_part",
        ["project_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("done"),
    )
    _servers()
    _registrations()
    for table in TABLES:
        op.execute(f"alter table {table} enable row level security, force row level security")
        op.execute(f"create policy own_project on {table} using ({PROJECT}) with check ({PROJECT})")
    op.execute("grant select, insert, update on intake_part to inferwatch_ingest")
    op.execute("grant select, delete on intake_part to inferwatch_worker")
    op.execute("grant select, insert, update on server_series, server_reading to inferwatch_ingest")
    op.execute("grant select, insert, update, delete on server_series, server_reading"
               " to inferwatch_worker")  # fmt: skip
    op.execute("grant select, update on scrape_target to inferwatch_worker")
    op.execute("grant select on server_reading, scrape_target"
               " to inferwatch_dashboard, inferwatch_export")  # fmt: skip
    op.execute("grant select, insert on deployment_registration, tag_source to inferwatch_ingest")
    op.execute("grant select, insert, update on tag_conflict to inferwatch_ingest")
    op.execute("grant select on deployment_registration, tag_conflict, tag_source"
               " to inferwatch_worker, inferwatch_dashboard, inferwatch_export")  # fmt: skip


def _servers() -> None:
    """What servers tell of themselves, and where it is read."""
    op.create_table(
        "server_series",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("series", sa.Text(), nullable=False),
        sa.Column("start_key", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", postgresql.JSONB(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "source", "series", "start_key", name=op.f("pk_server_series")
        ),
    )
    op.create_index("ix_server_series_at", "server_series", ["project_id", "at"], unique=False)
    op.create_table(
        "server_reading",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("reading", sa.Text(), nullable=False),
        sa.Column("minute", sa.DateTime(timezone=True), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("n", sa.Double(), nullable=False),
        sa.Column("total", sa.Double(), nullable=False),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("buckets", postgresql.JSONB(), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id", "model_id"],
            ["model.project_id", "model.id"],
            name=op.f("fk_server_reading_project_id_model_id_model"),
        ),
        sa.PrimaryKeyConstraint(
            "project_id",
            "model_id",
            "reading",
            "minute",
            "source",
            "version",
            name=op.f("pk_server_reading"),
        ),
    )
    op.create_index(
        "ix_server_reading_minute", "server_reading", ["project_id", "minute"], unique=False
    )
    op.create_table(
        "scrape_target",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", postgresql.JSONB(), nullable=False),
        sa.Column("applied_by", sa.Text(), nullable=False),
        sa.Column("applied_at", sa.DateTime(timezone=True), server_default=sa.text("now()"),
                  nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), server_default=sa.text("now()"),
                  nullable=False),
        sa.Column("tried_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failures", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("told", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"),
                  nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_scrape_target_project_id_project")
        ),
        sa.PrimaryKeyConstraint("project_id", "name", name=op.f("pk_scrape_target")),
    )  # fmt: skip


def _registrations() -> None:
    """Which deployment ran where and when, who said its tags, and who contradicted whom."""
    op.create_table(
        "deployment_registration",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        *_model_key(),
        sa.Column("deployment_id", sa.Integer(), nullable=False),
        sa.Column("joins", postgresql.JSONB(), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("evidence", postgresql.JSONB(), nullable=True),
        sa.Column("registered_at", sa.DateTime(timezone=True), nullable=False),
        _of_model("deployment_registration"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deployment_registration")),
    )
    op.create_index(
        "ix_deployment_registration_model",
        "deployment_registration",
        ["project_id", "model_id", "valid_from"],
        unique=False,
    )
    op.create_table(
        "tag_conflict",
        *_model_key(),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("used", sa.Text(), nullable=True),
        sa.Column("used_source", sa.Text(), nullable=False),
        sa.Column("other", sa.Text(), nullable=False),
        sa.Column("other_source", sa.Text(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        _of_model("tag_conflict"),
        sa.PrimaryKeyConstraint("project_id", "model_id", "digest", name=op.f("pk_tag_conflict")),
    )
    op.create_table(
        "tag_source",
        *_model_key(),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        _of_model("tag_source"),
        sa.PrimaryKeyConstraint(
            "project_id", "model_id", "digest", "tag", "source", name=op.f("pk_tag_source")
        ),
    )


def _model_key() -> tuple[sa.Column[int], sa.Column[int]]:
    return (
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
    )


def _of_model(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id", "model_id"],
        ["model.project_id", "model.id"],
        name=op.f(f"fk_{table}_project_id_model_id_model"),
    )
