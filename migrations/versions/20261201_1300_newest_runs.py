"""The dashboard finds the newest runs of jobs without reading all that ever ran.

phase: pre = runs before the new program starts, the old one still works on it.
"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None
phase = "pre"


def upgrade() -> None:
    op.create_index("ix_job_window_finished", "job_window", ["project_id", "finished_at"])
    op.create_index("ix_job_window_newest", "job_window", ["project_id", "window_start"])
