"""Erase a person's rows: what the entity column names, in requests, labels and samples.

Profiles, blocks and measurements hold counts and keyed hashes and stay; so does the audit chain,
which never held a value. What remains of the entity is its keyed hash, in the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.contract import ColumnRole, ColumnType
from monitor.errors import ConfigurationError, Problem
from monitor.keys import keyed_hash
from monitor.layout import Slot
from monitor.profiles.sample import EVENT_TIME, REQUEST_ID, sample_from_bytes, sample_to_bytes
from monitor.store.deletions import Deleted, certify
from monitor.store.holds import DELETABLE, standing_holds
from monitor.store.models import ModelContext
from monitor.store.tables import baseline, sample


@dataclass(frozen=True)
class Erased:
    """What was erased: the entity's keyed hash, rows by class, and the certificate."""

    entity: str
    counts: dict[str, int]
    certificate: dict[str, Any]


def erase_entity(connection: Connection, model: ModelContext, value: str, *, by: str) -> Erased:
    """Erase every row of an entity, in a transaction of the owner; certified in the same one.

    Raises ConfigurationError when the contract names no entity column, the value can't be one, or
    a legal hold stands. A second time finds nothing and is certified as that.
    """
    _refuse_held(connection, model)
    column = model.contract.single(ColumnRole.ENTITY)
    if column is None:
        remedy = "give the column that names people `role: entity` in the contract"
        raise _refused("model", f"{model.contract.model} has no entity column; {remedy}")
    slots = [slot for slot in model.layout.slots if slot.name == column.name]
    _collect(connection, model, slots, value)
    first, last = connection.execute(
        sa.text("select min(event_time), max(event_time) from erased_request")
    ).one()
    entity = entity_hash(value, model.hash_key)
    counts = _delete_rows(connection, model)
    counts["samples"] = _clean_samples(connection, model, first, last)
    counts["baseline_samples"] = _clean_baselines(connection, model)
    connection.execute(sa.text("drop table erased_request"))
    done = Deleted("erasure", counts, first, last, {"entity": entity, "column": column.name})
    certificate = certify(connection, model.project_id, model.model_id, done, by=by)
    return Erased(entity, counts, certificate)


def entity_hash(value: str, key16: bytes) -> str:
    """The keyed hash by which a certificate names an entity: 16 hexadecimal digits."""
    return f"{int(keyed_hash([value], key16)[0]) & (2**64 - 1):016x}"


def _refuse_held(connection: Connection, model: ModelContext) -> None:
    for hold in standing_holds(connection, model.project_id):
        if hold.covers(model.model_id, DELETABLE):
            told = f"legal hold {hold.id} of {hold.placed_by} stands ({hold.reason[:100]})"
            raise _refused("hold", f"{told}; nothing is erased until it is released")


def _collect(connection: Connection, model: ModelContext, slots: list[Slot], value: str) -> None:
    """The keys of the entity's requests, in a table of this transaction."""
    wanted, values = _conditions(model, slots, value)
    connection.execute(
        sa.text(
            "create temp table erased_request on commit drop as"
            " select leg, event_time, request_id, deployment_id from request_log"
            f" where project_id = :project and model_id = :model and ({wanted})"
        ),
        {"project": model.project_id, "model": model.model_id, **values},
    )


def _conditions(model: ModelContext, slots: list[Slot], value: str) -> tuple[str, dict[str, Any]]:
    """Where the value may stand: the column's place, and those of earlier types of it."""
    found: list[str] = []
    values: dict[str, Any] = {}
    for slot in slots:
        name = f"value_{slot.ordinal}"
        if slot.text_width == 1:
            found.append(f"texts[{slot.text_start + 1}] = :{name}")
            hashed = slot.type is ColumnType.TEXT
            values[name] = entity_hash(value, model.hash_key) if hashed else value
            if hashed:  # with keep_text the text itself is stored
                found.append(f"texts[{slot.text_start + 1}] = :{name}_kept")
                values[f"{name}_kept"] = value
        elif slot.number_width == 1 and (number := _number(value)) is not None:
            found.append(f"numbers[{slot.number_start + 1}] = :{name}")
            values[name] = number
    if not found:
        raise _refused("entity", "the value is no number, but the entity column holds numbers")
    return " or ".join(found), values


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


_OF_MODEL = "t.project_id = :project and t.model_id = :model and t.request_id = e.request_id"
_DELETIONS = {
    "labels": f"delete from label t using erased_request e where {_OF_MODEL}"
    " and coalesce(t.event_time, e.event_time) = e.event_time",
    "waiting_labels": f"delete from label_orphan t using erased_request e where {_OF_MODEL}"
    " and coalesce(t.event_time, e.event_time) = e.event_time",
    "rejections": f"delete from rejection t using erased_request e where {_OF_MODEL}",
    "review_items": "delete from review_item t using erased_request e, review_draw d"
    " where t.project_id = :project and t.draw_id = d.id and d.model_id = :model"
    " and t.request_id = e.request_id and t.event_time = e.event_time",
    "requests": f"delete from request_log t using erased_request e where {_OF_MODEL}"
    " and t.leg = e.leg and t.event_time = e.event_time",
}


def _delete_rows(connection: Connection, model: ModelContext) -> dict[str, int]:
    values = {"project": model.project_id, "model": model.model_id}
    return {
        name: connection.execute(sa.text(statement), values).rowcount
        for name, statement in _DELETIONS.items()
    }


def _erased_ids(connection: Connection) -> set[tuple[str, datetime]]:
    found = connection.execute(sa.text("select request_id, event_time from erased_request"))
    return {(row.request_id, row.event_time) for row in found}


def _clean_samples(
    connection: Connection, model: ModelContext, first: datetime | None, last: datetime | None
) -> int:
    """Take the entity's rows out of the samples of its days; how many rows."""
    if first is None or last is None:
        return 0
    row, gone, total = sample.c, _erased_ids(connection), 0
    mine = (
        row.project_id == model.project_id,
        row.model_id == model.model_id,
        row.day > first - timedelta(days=1),
        row.day <= last,
    )
    key = (row.day, row.deployment_id, row.leg)
    for stored in connection.execute(sa.select(*key, row.body).where(*mine).with_for_update()):
        kept, lost = _without(bytes(stored.body), gone)
        if lost:
            same = [column == getattr(stored, column.name) for column in key]
            change = sa.update(sample).where(*mine, *same)
            connection.execute(change.values(body=sample_to_bytes(kept), n=kept.num_rows))
        total += lost
    return total


def _clean_baselines(connection: Connection, model: ModelContext) -> int:
    """Take the entity's rows out of the samples that baselines keep; how many rows."""
    row, gone, total = baseline.c, _erased_ids(connection), 0
    mine = (
        row.project_id == model.project_id,
        row.model_id == model.model_id,
        row.sample.is_not(None),
    )
    for stored in connection.execute(sa.select(row.id, row.sample).where(*mine)):
        kept, lost = _without(bytes(stored.sample), gone)
        if lost:
            change = sa.update(baseline).where(*mine, row.id == stored.id)
            connection.execute(change.values(sample=sample_to_bytes(kept)))
        total += lost
    return total


def _without(body: bytes, gone: set[tuple[str, datetime]]) -> tuple[pa.Table, int]:
    table = sample_from_bytes(body)
    names, times = table[REQUEST_ID].to_pylist(), table[EVENT_TIME].to_pylist()
    stays = pa.array([pair not in gone for pair in zip(names, times, strict=True)], pa.bool_())
    kept = table.filter(stays)
    return kept, int(pc.sum(pc.invert(stays)).as_py() or 0)


def _refused(place: str, what: str) -> ConfigurationError:
    return ConfigurationError("erasure", [Problem(place, what)])
