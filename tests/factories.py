"""Contracts, requests and labels for tests of the store and the jobs, packed by hand.

Rows are plain dictionaries with the wire's names, so that a test can count them again in plain
Python. Packing goes by the layout and shares no code with intake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.contract import ColumnType, Contract
from monitor.deployment import Tags
from monitor.records import (
    LABEL_SCHEMA,
    REQUEST_SCHEMA,
    LabelBatch,
    Rejection,
    RequestBatch,
    RequestOutcome,
    ViolationExample,
    ViolationReason,
    violation_code,
)
from monitor.store import models
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore, event_days
from monitor.store.models import ModelContext
from monitor.store.requests import StoredRows

START = datetime(2024, 5, 1, tzinfo=UTC)
Row = Mapping[str, Any]


@dataclass
class TestClock:
    """A clock that a test sets. Each look is a microsecond later, as on a real machine."""

    __test__ = False

    now: datetime = datetime(2024, 6, 2, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now


def contract_body(**changes: Any) -> dict[str, Any]:
    """A contract of the model `credit` as it stands in a file; `changes` replace its entries."""
    body: dict[str, Any] = {
        "model": "credit",
        "owner": "risk team",
        "purpose": "who gets a loan",
        "task": "binary",
        "columns": [
            {"name": "age", "type": "number", "nullable": True},
            {"name": "city", "type": "category", "nullable": True},
            {"name": "score", "type": "number", "role": "score", "range": [0, 1]},
            {"name": "ms", "type": "number", "role": "timing", "unit": "ms", "nullable": True},
        ],
        "label": {"name": "default", "max_age": "7d", "correction_time": "1d"},
        "baseline": {"first_rows": 100},
    }
    return {**body, **changes}


def make_contract(**changes: Any) -> Contract:
    """The contract of `contract_body`."""
    return Contract.model_validate(contract_body(**changes))


def apply(engine: Engine, project_id: int, contract: Contract) -> ModelContext:
    """Apply a contract; the model as it is now."""
    with transaction(engine, project_id, Role.OWNER) as connection:
        models.apply_contract(connection, project_id, contract, source="", by="tests")
    return current_context(engine, project_id, contract.model)


def current_context(engine: Engine, project_id: int, model: str = "credit") -> ModelContext:
    """A model as the database has it."""
    with transaction(engine, project_id, Role.WORKER) as connection:
        key = connection.scalar(
            sa.text("select hash_key from project where id = :id"), {"id": project_id}
        )
        found = models.model_context(connection, project_id, model, bytes(key))
    assert found is not None
    return found


def deployment(engine: Engine, context: ModelContext, **tags: str) -> int:
    """The number of the deployment with these tags."""
    with transaction(engine, context.project_id, Role.INGEST) as connection:
        number, _ = models.register_deployment(
            connection, context.project_id, context.model_id, Tags.of(tags), None, START
        )
    return number


def request(name: str, at: datetime, **columns: Any) -> dict[str, Any]:
    """One request row. Envelope entries: deployment, outcome, outcome_reason, violations."""
    row: dict[str, Any] = {
        "request_id": name,
        "event_time": at,
        "age": 40.0,
        "city": "Bonn",
        "score": 0.7,
        "ms": 12.0,
    }
    return {**row, **columns}


def request_batch(
    context: ModelContext,
    rows: Sequence[Row],
    *,
    leg: str = "live",
    received_at: datetime = START,
    tags: tuple[Tags, ...] = (),
    rejections: tuple[Rejection, ...] = (),
    examples: tuple[ViolationExample, ...] = (),
) -> RequestBatch:
    """Rows as intake hands them over; a row's `violations` are (column, reason) pairs."""
    columns: dict[str, list[Any]] = {name: [] for name in REQUEST_SCHEMA.names}
    for row in rows:
        numbers, texts = _slots(context, row)
        codes = [_code(context, column, reason) for column, reason in row.get("violations", ())]
        values = {
            "project_id": context.project_id,
            "model_id": context.model_id,
            "leg": leg,
            "event_time": row["event_time"],
            "request_id": row["request_id"],
            "deployment_id": row.get("deployment", 1),
            "contract_version": context.contract_version,
            "outcome": int(row.get("outcome", RequestOutcome.ANSWERED)),
            "outcome_reason": row.get("outcome_reason"),
            "received_at": received_at,
            "violations": codes or None,
            "numbers": numbers,
            "texts": texts,
        }
        for name, value in values.items():
            columns[name].append(value)
    table = pa.table(columns, schema=REQUEST_SCHEMA)
    return RequestBatch(table, range(len(rows)), tags, rejections, examples)


def send(store: IntakeStore, context: ModelContext, rows: Sequence[Row], **more: Any) -> StoredRows:
    """Store rows as the collector does: partitions first."""
    batch = request_batch(context, rows, **more)
    store.prepare_days(event_days(batch.table))
    return store.store_requests(batch)


def label(name: str, value: float | None, observed_at: datetime, **more: Any) -> dict[str, Any]:
    """One label row. Further entries: source, event_time, leg, text (then without a value)."""
    return {"request_id": name, "value": value, "observed_at": observed_at, **more}


def label_batch(
    context: ModelContext,
    rows: Sequence[Row],
    *,
    arrived_at: datetime = START,
    name: str = "default",
    rejections: tuple[Rejection, ...] = (),
) -> LabelBatch:
    """Labels as intake hands them over."""
    columns: dict[str, list[Any]] = {field: [] for field in LABEL_SCHEMA.names}
    for row in rows:
        values = {
            "project_id": context.project_id,
            "model_id": context.model_id,
            "label_name": name,
            "request_id": row["request_id"],
            "source": row.get("source", "default"),
            "observed_at": row["observed_at"],
            "arrived_at": arrived_at,
            "event_time": row.get("event_time"),
            "leg": row.get("leg", "live"),
            "value": row["value"],
            "text": row.get("text"),
        }
        for field, value in values.items():
            columns[field].append(value)
    return LabelBatch(pa.table(columns, schema=LABEL_SCHEMA), range(len(rows)), rejections)


def count(connection: Connection, table: str, where: str = "true") -> int:
    """How many rows of a table the connection's role sees."""
    return int(connection.scalar(sa.text(f"select count(*) from {table} where {where}")) or 0)


def rows_of(engine: Engine, project_id: int | None, query: str, **values: Any) -> list[Any]:
    """The rows of a query as the worker sees them."""
    with transaction(engine, project_id, Role.WORKER) as connection:
        return list(connection.execute(sa.text(query), values).all())


def _slots(context: ModelContext, row: Row) -> tuple[list[float | None], list[str | None]]:
    layout = context.layout
    numbers: list[float | None] = [None] * layout.number_width
    texts: list[str | None] = [None] * layout.text_width
    for slot in layout.active_slots():
        value = row.get(slot.name)
        if slot.type is ColumnType.CATEGORY:
            texts[slot.text_start] = value
        elif slot.number_width == 1 and slot.text_width == 0:
            numbers[slot.number_start] = None if value is None else float(value)
        elif slot.type is ColumnType.CLASS_SCORES:
            numbers[slot.number_start : slot.number_start + slot.number_width] = value
        elif slot.type is ColumnType.RANKED_LIST:
            texts[slot.text_start : slot.text_start + len(value)] = value
        else:
            raise AssertionError(f"these factories pack no {slot.type} columns")
    return numbers, texts


def _code(context: ModelContext, column: str, reason: ViolationReason) -> int:
    ordinal = context.layout.slot(column).ordinal if column else 0
    return violation_code(ordinal, reason)
