"""Forgetting how people signed in: sessions and links that ended, attempts that count no more.

Who did what stays in the audit chain; these rows hold addresses of people and serve nobody later.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

KEPT_AFTER_END = timedelta(days=30)
"""As the database's function has it, which alone may do this: the worker can't read the tables."""


def forget_sign_ins(connection: Connection, now: datetime) -> dict[str, int]:
    """Forget sessions and links 30 days after their end, attempts once they count no more."""
    asked = sa.text("select what, n from forget_sign_ins(:now)")
    return {row.what: row.n for row in connection.execute(asked, {"now": now})}
