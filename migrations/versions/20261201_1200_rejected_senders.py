"""Refused records keep who sent them: the key's name, and what the sender calls itself.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None
phase = "pre"


def upgrade() -> None:
    op.add_column("rejection", sa.Column("sent_with", sa.Text(), nullable=True))
    op.add_column("rejection", sa.Column("producer", sa.Text(), nullable=True))
