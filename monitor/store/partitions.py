"""Daily partitions of request_log and monthly ones of label: made ahead, dropped by retention."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import OperationalError

from monitor.store.engine import Role, transaction

DAYS_AHEAD = 14
DAYS_BEHIND = 35
LOCK_NOT_AVAILABLE = "55P03"


def request_days(connection: Connection) -> set[date]:
    """Days that request_log has a partition for."""
    names = connection.scalars(
        sa.text(
            "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
            " where i.inhparent = 'public.request_log'::regclass and not i.inhdetachpending"
        )
    )
    found = (re.fullmatch(r"request_log_(\d{4})(\d\d)(\d\d)", name) for name in names)
    return {date(int(m[1]), int(m[2]), int(m[3])) for m in found if m}


def prepare_request_days(engine: Engine, days: Iterable[date], role: Role) -> int:
    """Make the missing partitions of these days; how many were made. Intake never waits for it."""
    return sum(_ensure(engine, "ensure_request_partition", day, role) for day in sorted(set(days)))


def prepare_label_months(engine: Engine, days: Iterable[date], role: Role) -> int:
    """Make the missing label partitions of the months these days lie in."""
    months = sorted({day.replace(day=1) for day in days})
    return sum(_ensure(engine, "ensure_label_partition", day, role) for day in months)


def prepare_ahead(engine: Engine, now: datetime, role: Role = Role.WORKER) -> int:
    """Partitions from the intake limit behind to DAYS_AHEAD ahead; how many were made."""
    today = now.astimezone(UTC).date()
    days = [today + timedelta(days=shift) for shift in range(-DAYS_BEHIND - 1, DAYS_AHEAD + 1)]
    with transaction(engine, None, role) as connection:
        missing = set(days) - request_days(connection)
    return prepare_request_days(engine, missing, role) + prepare_label_months(engine, days, role)


def drop_request_days(engine: Engine, before: date) -> list[date]:
    """Detach and drop partitions of days before this one; those done.

    Detached concurrently first: a plain DROP would wait behind an open read and stop every COPY
    behind it. A partition that a reader holds for too long stays for the next run.
    """
    with transaction(engine, None, Role.OWNER) as connection:
        old = sorted(day for day in request_days(connection) if day < before)
    return [day for day in old if _detach_and_drop(engine, f"request_log_{day:%Y%m%d}")]


def _ensure(engine: Engine, function: str, day: date, role: Role) -> bool:
    with transaction(engine, None, role) as connection:
        return bool(connection.scalar(sa.text(f"select {function}(:day)"), {"day": day}))


def _detach_and_drop(engine: Engine, name: str) -> bool:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("set lock_timeout = '2s'"))
        try:
            connection.execute(
                sa.text(f'alter table request_log detach partition "{name}" concurrently')
            )
            connection.execute(sa.text(f'drop table "{name}"'))
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != LOCK_NOT_AVAILABLE:
                raise
            return False
        finally:
            connection.execute(sa.text("reset lock_timeout"))
    return True
