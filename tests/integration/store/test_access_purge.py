"""Ended sessions, links and old attempts go with the worker's rights; what still holds stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine
from sqlalchemy.exc import ProgrammingError

from monitor.jobs.run import Runner
from monitor.scheduler import Worker
from monitor.store.access_purge import KEPT_AFTER_END, forget_sign_ins
from monitor.store.access_tables import account, login_attempt, one_time_link, session
from monitor.store.engine import Role, transaction
from monitor.store.sessions import IDLE

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
LONG_AGO = NOW - KEPT_AFTER_END - HOUR
LATELY = NOW - KEPT_AFTER_END + HOUR
AHEAD = NOW + HOUR


def fill(engine: Engine) -> None:
    """Rows of each kind, named by their digests after what should become of them."""
    with transaction(engine, None, Role.OWNER) as connection:
        who = connection.scalar(
            sa.insert(account).values(login="ada", created_by="t").returning(account.c.id)
        )
        sessions = [
            (b"gone: expired", LATELY, LONG_AGO, None),
            (b"gone: revoked", NOW, AHEAD, LONG_AGO),
            (b"gone: idle", LONG_AGO - IDLE, AHEAD, None),
            (b"stays: ended lately", LATELY, LATELY, LATELY),
            (b"stays: lives", NOW, AHEAD, None),
        ]
        for digest, seen, expires, revoked in sessions:
            connection.execute(sa.insert(session).values(
                digest=digest, account_id=who, method="password", address="::1",
                created_at=LONG_AGO, seen_at=seen, expires_at=expires, revoked_at=revoked,
            ))  # fmt: skip
        links = [
            (b"gone: used", AHEAD, LONG_AGO),
            (b"gone: expired", LONG_AGO, None),
            (b"stays: used lately", LONG_AGO + 2 * HOUR, LATELY),
            (b"stays: open", AHEAD, None),
        ]
        for digest, expires, used in links:
            connection.execute(sa.insert(one_time_link).values(
                digest=digest, account_id=who, created_by="t", created_at=LONG_AGO,
                expires_at=expires, used_at=used,
            ))  # fmt: skip
        for digest, at in ((b"gone", NOW - HOUR), (b"stays", NOW - timedelta(minutes=14))):
            connection.execute(
                sa.insert(login_attempt).values(login_digest=digest, address="::1", at=at)
            )


def left(engine: Engine, table: str, digest: str = "digest") -> set[str]:
    with transaction(engine, None, Role.OWNER) as connection:
        rows = connection.execute(sa.text(f"select {digest} as found from {table}")).all()
    return {bytes(row.found).decode() for row in rows}


def test_what_ended_30_days_ago_goes_and_the_rest_stays(engine: Engine, project_id: int) -> None:
    fill(engine)
    with transaction(engine, None, Role.WORKER) as connection:
        done = forget_sign_ins(connection, NOW)
    assert done == {"session": 3, "one_time_link": 2, "login_attempt": 1}
    assert left(engine, "session") == {"stays: ended lately", "stays: lives"}
    assert left(engine, "one_time_link") == {"stays: used lately", "stays: open"}
    assert left(engine, "login_attempt", "login_digest") == {"stays"}


def test_the_worker_does_it_when_it_keeps_house(
    engine: Engine, project_id: int, runner: Runner
) -> None:
    fill(engine)  # all of it ended long before the worker's own clock
    Worker(engine, runner, NOW).keep_house()
    assert left(engine, "session") == left(engine, "one_time_link") == set()


def test_a_moment_in_the_future_ends_nothing_that_holds(engine: Engine, project_id: int) -> None:
    fill(engine)
    now = datetime.now(UTC)
    with transaction(engine, None, Role.OWNER) as connection:
        connection.execute(sa.update(session).values(
            seen_at=now, expires_at=now + HOUR, revoked_at=None))  # fmt: skip
    with transaction(engine, None, Role.WORKER) as connection:
        assert forget_sign_ins(connection, now + timedelta(days=365))["session"] == 0


@pytest.mark.parametrize("role", [Role.INGEST, Role.DASHBOARD, Role.EXPORT, Role.GATE])
def test_nobody_else_may(engine: Engine, project_id: int, role: Role) -> None:
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction(engine, None, role) as connection,
    ):
        forget_sign_ins(connection, NOW)
