"""The readable view of a model's requests: real column names over the two arrays of a row."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from monitor.contract import ColumnType, Contract
from monitor.layout import Layout, Slot

MAX_NAME_BYTES = 63
"""Longest name Postgres keeps; it cuts longer ones, which could make two columns the same."""


def view_name(model_name: str) -> str:
    """Name of the readable view of a model's requests."""
    return "log_" + model_name.replace("-", "_").replace(".", "_")


def make_view(
    connection: Connection, project_id: int, model_id: int, wanted: Contract, layout: Layout
) -> None:
    """Make or replace the view; it shows rows only while `app.project` is set to its project."""
    quote = connection.dialect.identifier_preparer.quote_identifier
    schema = quote(f"project_{project_id}")
    view = f"{schema}.{quote(view_name(wanted.model))}"
    columns = ",\n  ".join(
        f"{_expression(slot)} as {quote(_short(slot))}" for slot in layout.active_slots()
    )
    # Numbers are our own integers and names are quoted; a raw statement, because column names may
    # hold colons and percent signs, which text() would take for parameters.
    for statement in (
        f"create schema if not exists {schema}",
        f"grant usage on schema {schema} to inferwatch_dashboard, inferwatch_export",
        f"drop view if exists {view}",
        f"create view {view} as select request_id, event_time, leg, deployment_id, outcome,"
        f" outcome_reason, received_at, contract_version, violations,\n  {columns}\n"
        f"from public.request_log where project_id = {project_id} and model_id = {model_id}"
        f" and project_id = nullif(current_setting('app.project', true), '')::int",
        f"grant select on {view} to inferwatch_dashboard, inferwatch_export",
    ):
        connection.exec_driver_sql(statement)


def _short(slot: Slot) -> str:
    """The column's name; a name beyond the limit is cut and ends with its own number."""
    raw = slot.name.encode()
    if len(raw) <= MAX_NAME_BYTES:
        return slot.name
    tail = f"~{slot.ordinal}"
    return raw[: MAX_NAME_BYTES - len(tail)].decode(errors="ignore") + tail


def _expression(slot: Slot) -> str:
    if slot.type is ColumnType.BOOLEAN:
        return f"(numbers[{slot.number_start + 1}] <> 0)"
    if slot.type is ColumnType.INTEGER:
        return f"numbers[{slot.number_start + 1}]::bigint"
    if slot.type is ColumnType.TIMESTAMP:
        return f"to_timestamp(numbers[{slot.number_start + 1}])"
    if slot.type is ColumnType.TEXT:
        return f"texts[{slot.text_start + 1}]"
    if slot.number_width > 1 or slot.type in (ColumnType.VECTOR, ColumnType.CLASS_SCORES):
        return f"numbers[{slot.number_start + 1}:{slot.number_start + slot.number_width}]"
    if slot.type is ColumnType.RANKED_LIST:
        return f"texts[{slot.text_start + 1}:{slot.text_start + slot.text_width}]"
    if slot.text_width:
        return f"texts[{slot.text_start + 1}]"
    return f"numbers[{slot.number_start + 1}]"
