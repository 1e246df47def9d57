"""Which versions served, when, and what is known of each."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

import sqlalchemy as sa

from monitor.deployment import Tags, differing_groups
from monitor.documents.material import Material
from monitor.documents.numbers import DAY, measurements_of
from monitor.documents.parts import Column, Drafting, Kind, Row, Section, Voice
from monitor.store.tables import tag_conflict

VERSIONS = (
    Column("deployment", "Deployment"), Column("first", "First judged day", Kind.MOMENT),
    Column("last", "Last judged day", Kind.MOMENT), Column("requests", "Requests", Kind.WHOLE),
    Column("share", "Share", Kind.SHARE), Column("tags", "Version tags"),
    Column("changed", "Differs from the one before in"),
)  # fmt: skip
CONFLICTS = (
    Column("tag", "Tag"), Column("used", "Used"), Column("used_source", "Said by"),
    Column("other", "Contradicted by"), Column("other_source", "Said by"),
    Column("requests", "Requests", Kind.WHOLE),
)  # fmt: skip


def section(material: Material) -> Section:
    """Deployments with their requests of the period, and contradictions between their sources."""
    draft = Drafting("versions", "Versions that served")
    days: dict[int, dict[datetime, int]] = defaultdict(dict)
    for row in measurements_of(material, ("serving",), DAY):
        if len(row.deployment_ids) == 1:
            seen = days[row.deployment_ids[0]]
            seen[row.window.start] = max(seen.get(row.window.start, 0), row.n)
    total = sum(sum(each.values()) for each in days.values())
    served = sorted(days, key=lambda number: (min(days[number]), number))
    if not served:
        draft.say("No deployment is known to have served in this period.", Voice.MISSING)
    else:
        draft.say(f"{len(served)} deployments answered {total:,} requests on judged days.")
    rows: list[Row] = []
    before: Tags | None = None
    for number in served:
        title, tags = material.deployments[number]
        changed = ", ".join(differing_groups(before, tags)) if before is not None else None
        count = sum(days[number].values())
        rows.append(
            (title, min(days[number]), max(days[number]), count, count / total if total else None,
             tags.summary(), changed)
        )  # fmt: skip
        before = tags
    draft.table("deployments", "Deployments", VERSIONS, rows)
    draft.table("conflicts", "Contradicting tags", CONFLICTS, _conflicts(material),
                "No two sources contradicted each other.")  # fmt: skip
    return draft.done()


def _conflicts(material: Material) -> list[Row]:
    row = tag_conflict.c
    query = (
        sa.select(tag_conflict)
        .where(row.project_id == material.project_id, row.model_id == material.model_id)
        .where(row.first_at < material.period.end, row.last_at >= material.period.start)
        .where(row.first_at <= material.known_by)
        .order_by(row.tag, row.used_source, row.other_source, row.other)
    )
    return [
        (r.tag, r.used, r.used_source, r.other, r.other_source, r.requests)
        for r in material.connection.execute(query)
    ]
