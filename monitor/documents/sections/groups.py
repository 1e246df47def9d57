"""Groups: rates, ratios and gaps by declared group, small groups told as such."""

from __future__ import annotations

from monitor.documents.material import Material
from monitor.documents.parts import Column, Drafting, Kind, Section, Voice
from monitor.reports.groups import groups, violating

GROUPS = (
    Column("column", "Column"), Column("group", "Group"), Column("method", "Measure"),
    Column("n", "n", Kind.WHOLE), Column("rate", "Rate", Kind.NUMBER),
    Column("rate_low", "Low", Kind.NUMBER), Column("rate_high", "High", Kind.NUMBER),
    Column("value", "Ratio or gap", Kind.NUMBER), Column("low", "Low", Kind.NUMBER),
    Column("high", "High", Kind.NUMBER), Column("reference", "Compared with"),
    Column("verdict", "Verdict"), Column("reason", "Reason where nothing was measured"),
)  # fmt: skip
WORST = (
    Column("group", "Group"), Column("n", "n", Kind.WHOLE), Column("gap", "Gap", Kind.NUMBER),
    Column("low", "Low", Kind.NUMBER), Column("high", "High", Kind.NUMBER),
    Column("p", "p on other data", Kind.NUMBER), Column("confirmed", "Confirmed"),
)  # fmt: skip


def section(material: Material) -> Section:
    """The newest judged month of the period."""
    draft = Drafting("groups", "Groups")
    if not material.contract.body.get("segments"):
        draft.say("The contract declares no segments: groups were not compared.", Voice.MISSING)
        return draft.done()
    found = groups(material.engine, material.project_id, material.model_id, material.period,
                   material.known_by)  # fmt: skip
    if found.window is None:
        draft.say("No month of this period was judged by group.", Voice.MISSING)
        return draft.done()
    draft.say(
        f"The newest judged month of the period begins {found.window.start:%Y-%m-%d};"
        f" deployments together: {material.titles(found.deployment_ids)}."
    )
    bad = list(violating(found))
    if bad:
        draft.say(f"{len(bad)} groups are below the least ratio that is allowed.", Voice.BAD)
    draft.table(
        "groups", "Groups beside each other", GROUPS,
        [
            (column, one.group, one.method.replace("_", " "), one.n, one.rate, one.rate_low,
             one.rate_high, one.value, one.low, one.high, one.reference, one.verdict, one.reason)
            for column, rows in found.columns.items() for one in rows
        ],
    )  # fmt: skip
    if found.worst is not None:
        draft.say(f"{found.worst.searched:,} groups were searched for the worst ones.")
        draft.table(
            "worst", "Worst groups, found on one half and confirmed on the other", WORST,
            [(one.group, one.n, one.gap, one.low, one.high, one.p_confirmed,
              "yes" if one.confirmed else "no") for one in found.worst.found],
            "No worse group was found.",
        )  # fmt: skip
    return draft.done()
