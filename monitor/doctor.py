"""Looks at an installation as its operator would; a finding says what is wrong and what to do."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Engine
from sqlalchemy.exc import ProgrammingError

from monitor.errors import InferwatchError
from monitor.installation_key import FILE_NAME, existing_key
from monitor.postgres.binaries import find_postgres_bin
from monitor.postgres.server import EmbeddedServer
from monitor.settings import Settings
from monitor.store import schema
from monitor.store.alert_book import rules_in_force
from monitor.store.audit import SignedHead, signed_heads
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.evidence_tables import audit_entry
from monitor.store.partitions import request_days
from monitor.store.tables import heartbeat, job_window, model, project

OLDEST_SERVER = 150_000
LOW_DISK_BYTES = 1 << 30
SILENT_AFTER = timedelta(minutes=2)
DAYS_NEEDED = 3
UNSIGNED_AT_MOST = timedelta(days=2)
"""The worker signs once a day; a day more is for one that was stopped overnight."""


@dataclass(frozen=True)
class Finding:
    """One thing looked at: whether it is as it should be, and the remedy where it is not."""

    what: str
    ok: bool
    text: str
    remedy: str = ""


def examine(settings: Settings) -> list[Finding]:
    """All findings; what can't be looked at because something before it is broken is left out."""
    findings = [_python(), _disk(settings)]
    url = settings.database_url
    if url is None:
        binaries, url = _embedded(settings)
        findings.append(binaries)
    if url is not None:
        engine = make_engine(url)
        try:
            findings += _database(engine, settings)
        finally:
            engine.dispose()
    return findings


def _python() -> Finding:
    return Finding("python", True, ".".join(str(number) for number in sys.version_info[:3]))


def _disk(settings: Settings) -> Finding:
    place = next(path for path in (settings.home, *settings.home.parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / 1e9:.1f} GB free at {place}"
    if free >= LOW_DISK_BYTES:
        return Finding("disk", True, text)
    return Finding("disk", False, text, "free some space or set INFERWATCH_HOME to another disk")


def _embedded(settings: Settings) -> tuple[Finding, str | None]:
    try:
        find_postgres_bin(settings.postgres_bin)
        server = EmbeddedServer(settings.home)
        if server.status().is_running:
            return Finding("embedded database", True, "runs"), server.url
    except InferwatchError as error:
        return Finding("embedded database", False, str(error)), None
    remedy = "`inferwatch up` starts everything, `inferwatch db start` the database alone"
    return Finding("embedded database", False, "is not running", remedy), None


def _database(engine: Engine, settings: Settings) -> Iterator[Finding]:
    try:
        with transaction(engine, None, Role.OWNER) as connection:
            number = int(connection.scalar(sa.text("show server_version_num")) or 0)
            clock = connection.scalar(sa.text("select clock_timestamp()"))
        yield _version(number)
        yield _clock(clock)
        schema.require_current(engine)
    except InferwatchError as error:
        yield Finding("database", False, str(error))
        return
    yield Finding("schema", True, f"revision {schema.newest_revision()}")
    try:
        for look in (_partitions, _projects, _worker, _jobs):
            yield look(engine, datetime.now(UTC))
        yield _signing_key(engine, settings)
        yield _audit_heads(engine, datetime.now(UTC))
    except ProgrammingError as error:
        remedy = (
            "restore the whole dump as its owner, or run `inferwatch migrate` on a new database"
        )
        yield Finding("rights", False, str(error.orig).splitlines()[0][:200], remedy)


def _version(number: int) -> Finding:
    text = f"PostgreSQL {number // 10_000}.{number % 10_000}"
    if number >= OLDEST_SERVER:
        return Finding("database", True, text)
    return Finding("database", False, text, "use PostgreSQL 15 or newer")


def _clock(server: datetime | None) -> Finding:
    off = abs((datetime.now(UTC) - server).total_seconds()) if server else 0.0
    text = f"{off:.1f} s from the database's"
    if off < 5:
        return Finding("clock", True, text)
    return Finding("clock", False, text, "set the clock of this machine (NTP)")


def _partitions(engine: Engine, now: datetime) -> Finding:
    with transaction(engine, None, Role.WORKER) as connection:
        days = request_days(connection)
    ahead = sum(day >= now.date() for day in days)
    text = f"{ahead} days ready from today on"
    if ahead >= DAYS_NEEDED:
        return Finding("partitions", True, text)
    return Finding("partitions", False, text, "run `inferwatch worker`; it makes them ahead")


def _projects(engine: Engine, _: datetime) -> Finding:
    with transaction(engine, None, Role.WORKER) as connection:
        numbers = dict(connection.execute(sa.select(project.c.id, project.c.name)).all())
    if not numbers:
        remedy = "`inferwatch up` makes one, or `inferwatch contract apply FILE`"
        return Finding("projects", False, "there is none", remedy)
    counts = [_contents(engine, number, name) for number, name in numbers.items()]
    return Finding("projects", True, "; ".join(counts))


def _contents(engine: Engine, number: int, name: str) -> str:
    with transaction(engine, number, Role.WORKER) as connection:
        models = connection.scalar(sa.select(sa.func.count()).select_from(model))
        rules = rules_in_force(connection, number)
    told = f"{len(rules.config.rules)} alert rules" if rules else "no alert rules"
    return f"{name}: {models} models, {told}"


def _worker(engine: Engine, now: datetime) -> Finding:
    with transaction(engine, None, Role.WORKER) as connection:
        last = connection.scalar(sa.select(sa.func.max(heartbeat.c.beat_at)))
    if last is not None and now - last < SILENT_AFTER:
        return Finding("worker", True, f"last heartbeat {(now - last).total_seconds():.0f} s ago")
    text = f"silent since {last:%Y-%m-%d %H:%M} UTC" if last else "never seen"
    return Finding("worker", False, text, "start `inferwatch worker` (or `inferwatch up`)")


def _jobs(engine: Engine, _: datetime) -> Finding:
    with transaction(engine, None, Role.WORKER) as connection:
        numbers = list(connection.scalars(sa.select(project.c.id)))
    failed = sum(_failed(engine, number) for number in numbers)
    if not failed:
        return Finding("jobs", True, "no failed windows")
    remedy = "the page System health and the worker's log say why; they are tried again"
    return Finding("jobs", False, f"{failed} windows failed", remedy)


def _failed(engine: Engine, number: int) -> int:
    with transaction(engine, number, Role.WORKER) as connection:
        query = sa.select(sa.func.count()).where(job_window.c.state == "failed")
        return int(connection.scalar(query) or 0)


def _signing_key(engine: Engine, settings: Settings) -> Finding:
    """Whether evidence can be signed, with the key that signed what stands."""
    try:
        key = existing_key(settings)
    except InferwatchError as error:
        remedy = "only its owner may read it; put the right file back or set INFERWATCH_SIGNING_KEY"
        return Finding("signing key", False, str(error), remedy)
    signed_with = _newest_keys(engine)
    if key is None:
        if not signed_with:
            return Finding("signing key", True, "none yet; it is made at its first use")
        place = settings.home / FILE_NAME
        text = f"{place} is missing, and heads of the audit chain were signed with one"
        return Finding("signing key", False, text, "put it back from your backup")
    mine = key.public.fingerprint
    others = sorted({name for name, used in signed_with.items() if used != mine})
    if not others:
        return Finding("signing key", True, f"fingerprint {mine}")
    text = f"fingerprint {mine} did not sign the newest audit head of {', '.join(others)}"
    remedy = (
        "put the former key back; if you changed it on purpose, give reviewers both fingerprints"
    )
    return Finding("signing key", False, text, remedy)


def _newest_keys(engine: Engine) -> dict[str, str]:
    """The fingerprint that the newest signed head of each project names."""
    return {
        name: head.key for name, number in _numbers(engine) if (head := _newest(engine, number))
    }


def _numbers(engine: Engine) -> list[tuple[str, int]]:
    with transaction(engine, None, Role.WORKER) as connection:
        rows = connection.execute(sa.select(project.c.name, project.c.id).order_by(project.c.id))
        return [(row.name, row.id) for row in rows]


def _newest(engine: Engine, number: int) -> SignedHead | None:
    with transaction(engine, number, Role.WORKER) as connection:
        heads = signed_heads(connection, number, limit=1)
    return heads[0] if heads else None


def _audit_heads(engine: Engine, now: datetime) -> Finding:
    """Whether the audit chain is signed as it grows."""
    told, late = [], False
    for name, number in _numbers(engine):
        head = _newest(engine, number)
        waiting = _waits_since(engine, number, head.seq if head else 0)
        late = late or (waiting is not None and now - waiting > UNSIGNED_AT_MOST)
        signed = f"signed {head.signed_at:%Y-%m-%d %H:%M} UTC" if head else "never signed"
        since = f", unsigned entries since {waiting:%Y-%m-%d %H:%M} UTC" if waiting else ""
        told.append(f"{name}: {signed}{since}")
    remedy = "start `inferwatch worker`, which signs once a day; its log says why it could not"
    text = "; ".join(told) or "no project, no chain"
    return Finding("audit head", not late, text, remedy if late else "")


def _waits_since(engine: Engine, number: int, signed: int) -> datetime | None:
    """Since when the oldest entry after the signed one waits; None when there is none."""
    row = audit_entry.c
    query = sa.select(sa.func.min(row.at)).where(row.project_id == number, row.seq > signed)
    with transaction(engine, number, Role.WORKER) as connection:
        found: datetime | None = connection.scalar(query)
    return found
