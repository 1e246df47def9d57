"""Changes of version, each with before and after on the same cohort where that was compared."""

from __future__ import annotations

import sqlalchemy as sa

from monitor.documents.before_after import before_after_table
from monitor.documents.material import Material
from monitor.documents.parts import Cell, Column, Drafting, Kind, Section, Voice
from monitor.store.tables import comparison, golden_run

COMPARED = (
    Column("before", "Before"), Column("after", "After"), Column("start", "From", Kind.MOMENT),
    Column("end", "To", Kind.MOMENT), Column("verdict", "Verdict"), Column("sentence", "In words"),
    Column("differs", "What differs"), Column("by", "Compared by"),
    Column("known_at", "Known at", Kind.MOMENT),
)  # fmt: skip
GOLDEN = (
    Column("set", "Golden set"), Column("deployment", "Deployment"), Column("leg", "Leg"),
    Column("verdict", "Verdict"), Column("by", "Judged by"),
    Column("known_at", "Known at", Kind.MOMENT),
)  # fmt: skip


def section(material: Material) -> Section:
    """Comparisons of deployments and judged golden sets that were known."""
    draft = Drafting("changes", "Changes, before and after")
    rows = _comparisons(material)
    if not rows:
        draft.say(
            "No two deployments were compared on the same cohort: `inferwatch compare` does it.",
            Voice.MISSING,
        )
    draft.tables.append(before_after_table(material))
    draft.say(
        "Numbers of one day stand side by side on the same hours of traffic, those of other days on"
        " other traffic; both are of other requests, and only a comparison weighs their mix."
    )
    draft.table("comparisons", "Deployments compared", COMPARED, rows, "None was compared.")
    draft.table("golden", "Golden sets", GOLDEN, _golden(material), "No golden set was judged.")
    return draft.done()


def _comparisons(material: Material) -> list[tuple[Cell, ...]]:
    row, period = comparison.c, material.period
    query = (
        sa.select(comparison)
        .where(row.project_id == material.project_id, row.model_id == material.model_id)
        .where(row.known_at <= material.known_by)
        .where(row.window_start < period.end, row.window_end > period.start)
        .order_by(row.window_start, row.id)
    )
    return [
        (
            material.titles(tuple(each.deployments_a)), material.titles(tuple(each.deployments_b)),
            each.window_start, each.window_end, each.verdict.replace("_", " "),
            str(each.body.get("sentence", "")), str(each.body.get("differs", "")), each.made_by,
            each.known_at,
        )
        for each in material.connection.execute(query)
    ]  # fmt: skip


def _golden(material: Material) -> list[tuple[Cell, ...]]:
    row, period = golden_run.c, material.period
    query = (
        sa.select(golden_run)
        .where(row.project_id == material.project_id, row.model_id == material.model_id)
        .where(row.known_at <= material.known_by)
        .where(row.known_at >= period.start, row.known_at < period.end)
        .order_by(row.id)
    )
    return [
        (f"{each.set_name}@{each.set_version}", material.titles((each.deployment_id,)), each.leg,
         each.verdict, each.judged_by, each.known_at)
        for each in material.connection.execute(query)
    ]  # fmt: skip
