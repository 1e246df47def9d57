"""Partitions ahead, retention behind, labels that waited too long, heartbeats."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection, Engine

from monitor.store.deletions import Deleted, certify
from monitor.store.engine import Role, transaction
from monitor.store.estimators import forget_sampled
from monitor.store.holds import RecordClass, is_held
from monitor.store.intake_parts import forget_parts
from monitor.store.label_rows import forget_old_orphans
from monitor.store.models import ModelContext
from monitor.store.partitions import (
    HOUSEKEEPING,
    drop_label_months,
    drop_request_days,
    prepare_ahead,
)
from monitor.store.reviews import forget_items
from monitor.store.tables import heartbeat, sample
from monitor.windows import Grain, Window

log = logging.getLogger("inferwatch.retention")

FORGOTTEN_AFTER = timedelta(days=1)


def prepare_partitions(engine: Engine, now: datetime) -> int:
    """Make the partitions that intake will need; how many were made."""
    return prepare_ahead(engine, now)


def drop_expired_requests(
    engine: Engine, models: list[ModelContext], now: datetime
) -> list[datetime]:
    """Drop days that no model's retention keeps any more; profiles and measurements stay.

    A partition holds all models, so the longest retention decides, and a legal hold on requests of
    any model stops it. Without a model nothing is dropped.
    """
    if not models or _any_held(engine, models, RecordClass.REQUESTS):
        return []
    keep = max(model.contract.retention.requests_kept for model in models)
    days = drop_request_days(engine, (now - keep).astimezone(UTC).date())
    return [datetime(day.year, day.month, day.day, tzinfo=UTC) for day in days]


def drop_expired_labels(
    engine: Engine, models: list[ModelContext], now: datetime
) -> list[datetime]:
    """Drop months of labels that no model's retention keeps any more, unless a hold stands."""
    if not models or _any_held(engine, models, RecordClass.LABELS):
        return []
    keep = max(model.contract.retention.labels_kept for model in models)
    months = drop_label_months(engine, (now - keep).astimezone(UTC).date())
    return [datetime(month.year, month.month, 1, tzinfo=UTC) for month in months]


def _any_held(engine: Engine, models: list[ModelContext], kept: RecordClass) -> bool:
    for model in models:
        with transaction(engine, model.project_id, Role.WORKER) as connection:
            if is_held(connection, model.project_id, model.model_id, {kept}):
                log.info("retention held class=%s model=%s", kept, model.contract.model)
                return True
    return False


def forget_expired(connection: Connection, model: ModelContext, now: datetime) -> None:
    """Forget what holds values or names of expired requests, with a certificate, unless held."""
    if is_held(connection, model.project_id, model.model_id, {RecordClass.SAMPLES}):
        log.info("retention held class=samples model=%s", model.contract.model)
        return
    counts = {
        "samples": forget_samples(connection, model, now),
        "sampled_labels": forget_sampled_labels(connection, model, now),
        "review_items": forget_review_items(connection, model, now),
    }
    if any(counts.values()):
        before = now - model.contract.retention.requests_kept
        done = Deleted("retention", counts, None, before)
        certify(connection, model.project_id, model.model_id, done, by=HOUSEKEEPING)


def forget_samples(connection: Connection, model: ModelContext, now: datetime) -> int:
    """Samples hold values of requests and expire with them; how many were forgotten."""
    before = now - model.contract.retention.requests_kept
    row = sample.c
    return connection.execute(
        sa.delete(sample).where(
            row.project_id == model.project_id,
            row.model_id == model.model_id,
            row.day < Window.holding(before, Grain.DAY).start,
        )
    ).rowcount


def forget_review_items(connection: Connection, model: ModelContext, now: datetime) -> int:
    """Items of reviews name requests and expire with them; what their ratings said stays."""
    before = now - model.contract.retention.requests_kept
    return forget_items(connection, model.project_id, model.model_id, before)


def forget_sampled_labels(connection: Connection, model: ModelContext, now: datetime) -> int:
    """Labels of sampled requests kept for estimates go with the samples; of how many weeks."""
    before = now - model.contract.retention.requests_kept
    return forget_sampled(connection, model.project_id, model.model_id, before)


def give_up_orphans(connection: Connection, model: ModelContext, now: datetime) -> int:
    """Forget labels whose request can't come any more: label.max_age after they arrived."""
    label = model.contract.label
    if label is None:
        return 0
    before = now - label.max_age - label.correction_time
    return forget_old_orphans(connection, model.project_id, model.model_id, before)


def forget_marks_of_parts(connection: Connection, now: datetime) -> int:
    """Forget the marks of parts that were put together a day ago."""
    return forget_parts(connection, now - FORGOTTEN_AFTER)


def beat(engine: Engine, worker: str, role: str, started_at: datetime, now: datetime) -> None:
    """Say that this process is alive; processes silent for a day are forgotten."""
    row = {"worker": worker, "role": role, "started_at": started_at, "beat_at": now}
    with transaction(engine, None, Role.WORKER) as connection:
        statement = insert(heartbeat).values(**row)
        connection.execute(
            statement.on_conflict_do_update(index_elements=["worker"], set_={"beat_at": now})
        )
        connection.execute(sa.delete(heartbeat).where(heartbeat.c.beat_at < now - FORGOTTEN_AFTER))
