"""${message}

phase: pre = runs before the new program starts, the old one still works on it;
post = runs after the old program is gone.
"""

from alembic import op
import sqlalchemy as sa
${imports if imports else ""}

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}
phase = "pre"


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}
