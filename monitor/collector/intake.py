"""From a body to its answer: parse, make ready, store, count. Blocking; knows no HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from monitor.collector.ports import Store
from monitor.errors import RequestRefused
from monitor.intake.base import IntakeContext
from monitor.intake.batches import (
    count_later_than,
    count_violations,
    days_of,
    merge_labels,
    merge_requests,
)
from monitor.intake.times import micros_of
from monitor.origin import UNKNOWN, Origin
from monitor.records import IntakeAnswer, LabelBatch, RejectionReason, RequestBatch
from monitor.store.models import ModelContext
from monitor.store.requests import ACCEPTED, CONFLICT, DUPLICATE, StoredRows

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LOOKS_BACK = timedelta(days=35)
LOOKS_AHEAD = timedelta(hours=24)
SKEW = timedelta(minutes=10)
MAX_NEW_DAYS = 400

Batch = RequestBatch | LabelBatch
Parse = Callable[[IntakeContext], Batch]


@dataclass(frozen=True)
class Limits:
    """How much one body may hold."""

    max_records: int
    max_bytes: int


@dataclass(frozen=True)
class Counted:
    """An answer, and how many of its accepted requests lie in the future by more than SKEW."""

    answer: IntakeAnswer
    skewed: int = 0


def intake_context(
    model: ModelContext,
    leg: str,
    received_at: datetime,
    limits: Limits,
    *,
    anytime: bool,
    origin: Origin = UNKNOWN,
) -> IntakeContext:
    """What a body of this model is read against; `anytime` lifts the limit on the past."""
    return IntakeContext(
        project_id=model.project_id,
        model_id=model.model_id,
        contract=model.contract,
        contract_version=model.contract_version,
        layout=model.layout,
        leg=leg,
        hash_key=model.hash_key,
        deployment_ids=model.deployment_ids,
        earliest=EARLIEST if anytime else received_at - LOOKS_BACK,
        latest=received_at + LOOKS_AHEAD,
        received_at=received_at,
        max_records=limits.max_records,
        max_bytes=limits.max_bytes,
        origin=origin,
    )


def parse_current(
    store: Store, model_name: str, context: IntakeContext, parse: Parse
) -> tuple[Batch, IntakeContext]:
    """Parse; once more with fresh deployments when a number was unknown (kept for a second)."""
    batch = parse(context)
    if not names_unknown_deployment(batch):
        return batch, context
    fresh = store.model_context(context.project_id, model_name, refresh=True)
    if fresh is None or fresh.deployment_ids == context.deployment_ids:
        return batch, context
    renewed = _renewed(context, fresh)
    return parse(renewed), renewed


def names_unknown_deployment(batch: Batch) -> bool:
    """Whether a record was rejected for a deployment that may have been made just now."""
    return any(r.reason is RejectionReason.UNKNOWN_DEPLOYMENT for r in batch.rejections)


def store_one(store: Store, batch: Batch, context: IntakeContext) -> Counted:
    """Store one batch in one transaction and count what became of it."""
    batch = with_origin(batch, context.origin)
    rows = _store(store, batch, context)
    return count(batch, rows.codes)


def with_origin(batch: Batch, origin: Origin) -> Batch:
    """The batch, its rejections saying who sent them unless they say so already."""
    if not batch.rejections or origin is UNKNOWN:
        return batch
    told = tuple(
        replace(one, origin=origin) if one.origin is UNKNOWN else one for one in batch.rejections
    )
    return replace(batch, rejections=told)


def store_together(store: Store, batches: Sequence[Batch], context: IntakeContext) -> list[Counted]:
    """Store several batches of one model, leg and contract version in one transaction."""
    if len(batches) == 1:
        return [store_one(store, batches[0], context)]
    merged: Batch
    if isinstance(batches[0], RequestBatch):
        merged = merge_requests([b for b in batches if isinstance(b, RequestBatch)])
    else:
        merged = merge_labels([b for b in batches if isinstance(b, LabelBatch)])
    codes = _store(store, merged, context).codes
    counted, start = [], 0
    for batch in batches:
        end = start + batch.table.num_rows
        counted.append(count(batch, None if codes is None else codes[start:end]))
        start = end
    return counted


def count(batch: Batch, codes: Any) -> Counted:
    """The answer for a batch whose rows got these codes (None: all accepted)."""
    n = batch.table.num_rows
    accepted = None if codes is None else codes == ACCEPTED
    violations = skewed = 0
    if isinstance(batch, RequestBatch) and n:
        violations = count_violations(batch.table, accepted)
        skewed = _skewed(batch.table, accepted)
    return Counted(
        IntakeAnswer(
            accepted=n if accepted is None else int(accepted.sum()),
            duplicate=0 if codes is None else int((codes == DUPLICATE).sum()),
            conflict=0 if codes is None else int((codes == CONFLICT).sum()),
            rejections=batch.rejections,
            violations=violations,
        ),
        skewed,
    )


def _skewed(table: pa.Table, accepted: Any) -> int:
    limit = micros_of(table["received_at"][0].as_py() + SKEW)
    times = table.select(["event_time"])
    return count_later_than(times if accepted is None else times.filter(pa.array(accepted)), limit)


def _store(store: Store, batch: Batch, context: IntakeContext) -> StoredRows:
    if batch.table.num_rows == 0:
        _keep_rejections(store, batch, context)
        return StoredRows(None, 0)
    if isinstance(batch, LabelBatch):
        return store.store_labels(batch)
    missing = store.missing_days(days_of(batch.table))
    if len(missing) > MAX_NEW_DAYS:
        raise RequestRefused(
            422,
            "too_many_days",
            f"the body begins {len(missing)} days that hold nothing yet;"
            f" send at most {MAX_NEW_DAYS} new days in one body",
        )
    if missing:
        store.prepare_days(missing)
    return store.store_requests(batch)


def _keep_rejections(store: Store, batch: Batch, context: IntakeContext) -> None:
    if batch.rejections:
        kind = "labels" if isinstance(batch, LabelBatch) else "requests"
        store.keep_rejections(
            context.project_id, context.model_id, kind, context.received_at, batch.rejections
        )


def _renewed(context: IntakeContext, fresh: ModelContext) -> IntakeContext:
    return replace(
        context,
        contract=fresh.contract,
        contract_version=fresh.contract_version,
        layout=fresh.layout,
        deployment_ids=fresh.deployment_ids,
    )
