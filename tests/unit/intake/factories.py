"""A model with a column of every type, records that keep its contract, and ways to send them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from monitor.contract import Column, Contract, Task
from monitor.contract_quality import Label
from monitor.intake.base import IntakeContext
from monitor.layout import extend
from monitor.records import RequestBatch, ViolationReason, read_violation_code

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
KEY = bytes(range(16))

COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "age", "type": "number", "range": (0, 120)},
    {"name": "income", "type": "number", "nullable": True},
    {"name": "count", "type": "integer", "range": (0, None)},
    {"name": "visits", "type": "integer", "nullable": True},
    {"name": "member", "type": "boolean"},
    {"name": "country", "type": "category", "categories": ("DE", "FR", "77"), "role": "segment"},
    {"name": "shop", "type": "category", "nullable": True, "sensitivity": "public"},
    {"name": "born", "type": "timestamp", "nullable": True},
    {"name": "note", "type": "text", "nullable": True},
    {"name": "kept", "type": "text", "keep_text": True, "nullable": True},
    {"name": "place", "type": "vector", "size": 2, "nullable": True},
    {"name": "shares", "type": "class_scores", "categories": ("a", "b", "c"), "nullable": True},
    {"name": "top", "type": "ranked_list", "size": 3, "nullable": True},
    {"name": "score", "type": "number", "range": (0, 1), "role": "score"},
)


def contract_of(*columns: Mapping[str, Any], **changes: Any) -> Contract:
    """A contract with these columns, or with one of every type."""
    facts: dict[str, Any] = {
        "model": "credit",
        "owner": "risk",
        "purpose": "to decide on credit",
        "task": Task.BINARY,
        "label": Label(name="default"),
        "columns": tuple(Column(**dict(column)) for column in columns or COLUMNS),
    }
    return Contract(**{**facts, **changes})


def context_of(*columns: Mapping[str, Any], **changes: Any) -> IntakeContext:
    """What a body is read against; NOW is the moment it arrived."""
    contract = changes.pop("contract", None) or contract_of(*columns)
    return replace(
        IntakeContext(
            project_id=3,
            model_id=5,
            contract=contract,
            contract_version=2,
            layout=extend(None, contract),
            leg="live",
            hash_key=KEY,
            deployment_ids=frozenset({7, 8}),
            earliest=NOW - timedelta(days=35),
            latest=NOW + timedelta(hours=24),
            received_at=NOW,
            max_records=1_000,
        ),
        **changes,
    )


def record(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A record that keeps the contract; a change to `...` leaves the key out."""
    made: dict[str, Any] = {
        "request_id": f"r-{number}",
        "event_time": "2026-09-01T10:00:00.123456Z",
        "deployment": 7,
        "outcome": "answered",
        "age": 31.5,
        "income": None,
        "count": 3,
        "visits": None,
        "member": True,
        "country": "DE",
        "shop": "north",
        "born": "1990-01-02T03:04:05Z",
        "note": "late again",
        "kept": "as it is",
        "place": [0.5, -1.5],
        "shares": [0.2, 0.3, 0.5],
        "top": ["x", "y"],
        "score": 0.25,
    }
    made.update(changes)
    return {name: value for name, value in made.items() if value is not ...}


def lines(records: Iterable[Any]) -> bytes:
    """Newline-delimited JSON; bytes are taken as they are."""
    return b"".join(
        (r if isinstance(r, bytes) else json.dumps(r).encode()) + b"\n" for r in records
    )


def array(records: Iterable[Any]) -> bytes:
    """One JSON array; bytes are taken as they are."""
    parts = [r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]
    return b"[" + b",".join(parts) + b"]"


def stream(table: pa.Table, compression: str | None = None) -> bytes:
    """An Arrow IPC stream."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def violations(batch: RequestBatch) -> list[list[tuple[str, ViolationReason]]]:
    """Of each stored row: column name ("" for one the contract does not know) and reason."""
    context_columns = [column["name"] for column in COLUMNS]
    found = []
    for codes in batch.table["violations"].to_pylist():
        pairs = [read_violation_code(code) for code in codes or []]
        found.append([(context_columns[o - 1] if o else "", reason) for o, reason in pairs])
    return found


def reasons(batch: RequestBatch) -> list[list[ViolationReason]]:
    """Of each stored row: the reasons alone."""
    return [
        [read_violation_code(code)[1] for code in codes or []]
        for codes in batch.table["violations"].to_pylist()
    ]


def cell(batch: RequestBatch, row: int, name: str, context: IntakeContext) -> Any:
    """What is stored of one column: a list of its numbers and texts, a scalar when there is one."""
    slot = context.layout.slot(name)
    numbers = batch.table["numbers"][row].as_py()
    texts = batch.table["texts"][row].as_py()
    found = numbers[slot.number_start : slot.number_start + slot.number_width]
    found = found + texts[slot.text_start : slot.text_start + slot.text_width]
    return found[0] if len(found) == 1 else found
