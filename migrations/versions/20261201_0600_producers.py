"""Traffic from where it already is: parts of requests.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None
phase = "pre"

PROJECT = "project_id = nullif(current_setting('app.project', true), '')::int"
TABLES = ("intake_part",)


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
        "ix_intake_part_due", "intake_part", ["project_id", "due_at"], unique=False,
        postgresql_where=sa.text("not done"),
    )
    op.create_index(
        "ix_intake_part_old", "intake_part", ["project_id", "due_at"], unique=False,
        postgresql_where=sa.text("done"),
    )
    for table in TABLES:
        op.execute(f"alter table {table} enable row level security, force row level security")
        op.execute(f"create policy own_project on {table} using ({PROJECT}) with check ({PROJECT})")
    op.execute("grant select, insert, update on intake_part to inferwatch_ingest")
    op.execute("grant select, delete on intake_part to inferwatch_worker")
