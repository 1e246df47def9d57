"""Partitions ahead, retention behind, labels that waited too long, heartbeats."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection, Engine

from monitor.store.engine import Role, transaction
from monitor.store.estimators import forget_sampled
from monitor.store.intake_parts import forget_parts
from monitor.store.label_rows import forget_old_orphans
from monitor.store.models import ModelContext
from monitor.store.partitions import drop_label_months, drop_request_days, prepare_ahead
from monitor.store.reviews import forget_items
from monitor.store.tables import heartbeat, sample
from monitor.windows import Grain, Window

FORGOTTEN_AFTER = timedelta(days=1)


def prepare_partitions(engine: Engine, now: datetime) -> int:
    """Make the partitions that intake will need; how many were made."""
    return prepare_ahead(engine, now)


def drop_expired_requests(
    engine: Engine, models: list[ModelContext], now: datetime
) -> list[datetime]:
    """Drop days that no model's retention keeps any more; profiles and measurements stay.

    A partition holds all models, so the longest retention decides. Without a model nothing is
    dropped.
    """
    if not models:
        return []
    keep = max(model.contract.retention.requests for model in models)
    days = drop_request_days(engine, (now - keep).astimezone(UTC).date())
    return [datetime(day.year, day.month, day.day, tzinfo=UTC) for day in days]


def drop_expired_labels(
    engine: Engine, models: list[ModelContext], now: datetime
) -> list[datetime]:
    """Drop months of labels that no model's retention keeps any more."""
    if not models:
        return []
    keep = max(model.contract.retention.labels for model in models)
    months = drop_label_months(engine, (now - keep).astimezone(UTC).date())
    return [datetime(month.year, month.month, 1, tzinfo=UTC) for month in months]


def forget_samples(connection: Connection, model: ModelContext, now: datetime) -> int:
    """Samples hold values of requests and expire with them; how many were forgotten."""
    before = now - model.contract.retention.requests
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
    before = now - model.contract.retention.requests
    return forget_items(connection, model.project_id, model.model_id, before)


def forget_sampled_labels(connection: Connection, model: ModelContext, now: datetime) -> int:
    """Labels of sampled requests kept for estimates go with the samples; of how many weeks."""
    before = now - model.contract.retention.requests
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
