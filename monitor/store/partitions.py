"""Daily partitions of request_log and monthly ones of label: made ahead, dropped by retention."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import OperationalError

from monitor.store.deletions import Deleted, certify
from monitor.store.engine import Role, sqlstate_of, transaction

DAYS_AHEAD = 14
DAYS_BEHIND = 35
PARTITION_LOCK = 7_205_301_149
"""Also taken by the database's own functions that make partitions."""
HOUSEKEEPING = "inferwatch worker"
_MOMENT_OF = {"request_log": "event_time", "label": "observed_at"}
_CLASS_OF = {"request_log": "requests", "label": "labels"}
LOCK_NOT_AVAILABLE = "55P03"
WRONG_STATE = "55000"
"""Another process is detaching a partition of the same table."""


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
    behind it. What a reader holds for too long stays for the next run, half detached or not.
    """
    return _drop_old(engine, "request_log", before)


def drop_label_months(engine: Engine, before: date) -> list[date]:
    """Detach and drop label partitions of months before the month of this day; those done."""
    return _drop_old(engine, "label", before.replace(day=1))


def _drop_old(engine: Engine, parent: str, before: date) -> list[date]:
    with transaction(engine, None, Role.OWNER) as connection:
        pieces = [piece for piece in _pieces(connection, parent) if piece.first < before]
    done: list[date] = []
    # One detachment that was begun stops all others, so it is brought to its end first.
    for piece in sorted(pieces, key=lambda piece: (not piece.detach_begun, piece.first)):
        if not _detach_and_drop(engine, parent, piece):
            break
        done.append(piece.first)
    return sorted(done)


@dataclass(frozen=True)
class _Piece:
    """A partition, or a table that was one: its first day and how far its detachment is."""

    name: str
    first: date
    attached: bool
    detach_begun: bool


def _pieces(connection: Connection, parent: str) -> list[_Piece]:
    query = sa.text(
        "select c.relname, i.inhrelid is not null, coalesce(i.inhdetachpending, false)"
        " from pg_class c left join pg_inherits i"
        "   on i.inhrelid = c.oid and i.inhparent = to_regclass('public.' || :parent)"
        " where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'"
        "   and c.relname ~ ('^' || :parent || '_[0-9]{6}([0-9]{2})?$')"
    )
    found = []
    for name, attached, begun in connection.execute(query, {"parent": parent}):
        digits = name.rpartition("_")[2]
        first = date(int(digits[:4]), int(digits[4:6]), int(digits[6:] or 1))
        found.append(_Piece(name, first, attached, begun))
    return found


def _ensure(engine: Engine, function: str, day: date, role: Role) -> bool:
    with transaction(engine, None, role) as connection:
        return bool(connection.scalar(sa.text(f"select {function}(:day)"), {"day": day}))


def _detach_and_drop(engine: Engine, parent: str, piece: _Piece) -> bool:
    how = "finalize" if piece.detach_begun else "concurrently"
    try:
        if piece.attached:
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(sa.text("set lock_timeout = '2s'"))
                detach = f'alter table {parent} detach partition "{piece.name}" {how}'
                try:
                    connection.execute(sa.text(detach))
                finally:
                    connection.execute(sa.text("reset lock_timeout"))
        with transaction(engine, None, Role.OWNER) as connection:
            connection.execute(sa.text("set local lock_timeout = '2s'"))
            _drop_certified(connection, parent, piece)
    except OperationalError as error:
        if sqlstate_of(error) not in (LOCK_NOT_AVAILABLE, WRONG_STATE):
            raise
        return False
    return True


def _drop_certified(connection: Connection, parent: str, piece: _Piece) -> None:
    """Drop a detached piece; what it held is certified for each model in the same transaction."""
    connection.execute(sa.text("select pg_advisory_xact_lock(:key)"), {"key": PARTITION_LOCK})
    known = "select from pg_class where relnamespace = 'public'::regnamespace and relname = :name"
    if connection.execute(sa.text(known), {"name": piece.name}).first() is None:
        return  # another housekeeper was faster
    moment = _MOMENT_OF[parent]
    held = connection.execute(
        sa.text(
            f"select project_id, model_id, count(*) as n, min({moment}) as first,"
            f' max({moment}) as last from "{piece.name}" group by 1, 2 order by 1, 2'
        )
    ).all()
    for row in held:
        certify(
            connection,
            row.project_id,
            row.model_id,
            Deleted("retention", {_CLASS_OF[parent]: row.n}, row.first, row.last),
            by=HOUSEKEEPING,
        )
    connection.execute(sa.text(f'drop table "{piece.name}"'))
