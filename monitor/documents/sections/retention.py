"""How long what is kept, what holds it, what was deleted, and what people did: all as known."""

from __future__ import annotations

import sqlalchemy as sa

from monitor.contract import Retention
from monitor.documents.material import Material, text_of
from monitor.documents.parts import Column, Drafting, Kind, Row, Section
from monitor.store.tables import audit_entry, deletion, legal_hold

KEPT = (Column("what", "What"), Column("how_long", "How long"), Column("why", "Set by"))
HOLDS = (
    Column("hold", "Hold", Kind.WHOLE), Column("classes", "Of"), Column("reason", "Reason"),
    Column("by", "Placed by"), Column("at", "Placed", Kind.MOMENT),
    Column("released_by", "Released by"), Column("released_at", "Released", Kind.MOMENT),
)  # fmt: skip
DELETIONS = (
    Column("certificate", "Certificate", Kind.WHOLE), Column("kind", "Kind"), Column("by", "By"),
    Column("at", "At", Kind.MOMENT), Column("what", "What"),
)  # fmt: skip
DEEDS = (
    Column("entry", "Entry", Kind.WHOLE), Column("at", "At", Kind.MOMENT), Column("who", "Who"),
    Column("deed", "Deed"), Column("subject", "Subject"), Column("hash", "Hash of the entry"),
)  # fmt: skip
FOR_GOOD = "for good"


def section(material: Material) -> Section:
    """Retention in force, holds, deletions, and the audit chain's entries of the period."""
    draft = Drafting("retention", "Retention, deletions, legal holds")
    usual = Retention().model_dump(mode="json")
    body = {**usual, **(material.contract.body.get("retention") or {})}
    own = f"contract version {material.contract.version}"
    draft.table(
        "kept", "Retention in force", KEPT,
        [
            ("request rows and samples", str(body["requests"]), own),
            ("labels", str(body["labels"]), own),
            ("profiles, measurements, estimates, comparisons", FOR_GOOD, "product"),
            ("alerts, transitions, deliveries, responses, silences", FOR_GOOD, "product"),
            ("contracts, alert rules, deployments, audit chain", FOR_GOOD, "product"),
        ],
    )  # fmt: skip
    draft.table("holds", "Legal holds", HOLDS, _holds(material), "None was placed.")
    draft.table("deletions", "Deletions with their certificate", DELETIONS, _deletions(material),
                "Nothing was deleted.")  # fmt: skip
    draft.table("deeds", "What people did, from the audit chain", DEEDS, _deeds(material),
                "No entry was appended in the period.")  # fmt: skip
    return draft.done()


def _holds(material: Material) -> list[Row]:
    row, known = legal_hold.c, material.known_by
    mine = sa.or_(row.model_id == material.model_id, row.model_id.is_(None))
    query = (
        sa.select(legal_hold)
        .where(row.project_id == material.project_id, mine, row.placed_at <= known)
        .order_by(row.id)
    )
    found: list[Row] = []
    for each in material.connection.execute(query):
        over = each.released_at is not None and each.released_at <= known
        released = (each.released_by, each.released_at) if over else (None, None)
        found.append((each.id, ", ".join(each.classes), each.reason, each.placed_by,
                      each.placed_at, *released))  # fmt: skip
    return found


def _deletions(material: Material) -> list[Row]:
    row = deletion.c
    mine = sa.or_(row.model_id == material.model_id, row.model_id.is_(None))
    query = (
        sa.select(deletion)
        .where(row.project_id == material.project_id, mine, row.at <= material.known_by)
        .where(row.at >= material.period.start, row.at < material.period.end)
        .order_by(row.id)
    )
    return [
        (each.id, each.kind, each.by, each.at, text_of(each.body))
        for each in material.connection.execute(query)
    ]


def _deeds(material: Material) -> list[Row]:
    row = audit_entry.c
    query = (
        sa.select(row.seq, row.at, row.actor, row.deed, row.subject, row.hash)
        .where(row.project_id == material.project_id, row.at <= material.known_by)
        .where(row.at >= material.period.start, row.at < material.period.end)
        .order_by(row.seq)
    )
    return [tuple(each) for each in material.connection.execute(query)]
