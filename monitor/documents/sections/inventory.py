"""What the model is, what it is for, and what is declared of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.documents.material import Material, text_of
from monitor.documents.parts import Cell, Column, Drafting, Kind, Section, Voice

COLUMNS = (
    Column("name", "Column"), Column("type", "Type"), Column("role", "Role"),
    Column("unit", "Unit"), Column("range", "Range or categories"),
    Column("nullable", "May be empty"), Column("sensitivity", "Sensitivity"),
)  # fmt: skip


def section(material: Material) -> Section:
    """Inventory and purpose."""
    draft = Drafting("inventory", "Inventory and purpose")
    body, newest = material.contract.body, material.contract
    label = body.get("label") or {}
    facts = [
        ("model", material.name),
        ("owner", material.model.owner),
        ("purpose", material.model.purpose),
        ("risk tier", material.model.risk_tier),
        ("task", body.get("task")),
        ("known since", material.model.created_at),
        ("retired", _retired(material)),
        ("contract in force", f"version {newest.version}, applied by {newest.by}"),
        ("contract applied", newest.at),
        ("time zone", material.zone),
        ("also known as", text_of(body.get("also_known_as"))),
        ("label", label.get("name")),
        ("longest delay of labels", label.get("max_age")),
        ("segments", text_of(body.get("segments"))),
        ("decision threshold", body.get("decision_threshold")),
    ]
    draft.table("model", "The model", (Column("fact", "Fact"), Column("value", "Value")),
                [(name, _written(value)) for name, value in facts])  # fmt: skip
    if not label:
        draft.say("No label is declared: quality can't be measured.", Voice.MISSING)
    rows = [
        (
            each["name"], each["type"], each.get("role", "feature"), each.get("unit"),
            _range(each),
            "yes" if each.get("nullable") else "no", each.get("sensitivity", "internal"),
        )
        for each in body.get("columns", ())
    ]  # fmt: skip
    draft.table("columns", "Columns of the contract", COLUMNS, rows)
    draft.table(
        "contracts", "Versions of the contract",
        (Column("version", "Version", Kind.WHOLE), Column("by", "Applied by"),
         Column("at", "Applied", Kind.MOMENT)),
        [(each.version, each.by, each.at) for each in material.contracts],
    )  # fmt: skip
    return draft.done()


def _range(column: Mapping[str, Any]) -> Cell:
    limits = column.get("range")
    if limits:
        low, high = ("any" if each is None else f"{each:g}" for each in limits)
        return f"{low} to {high}"
    return text_of(column.get("categories"))


def _retired(material: Material) -> str:
    at = material.model.retired_at
    if at is None or at > material.known_by:
        return "no"
    return f"{at:%Y-%m-%d %H:%M} UTC by {material.model.retired_by}"


def _written(value: object) -> str | None:
    if value is None or value == "":
        return None
    strftime = getattr(value, "strftime", None)
    return strftime("%Y-%m-%d %H:%M:%S UTC") if strftime else str(value)
