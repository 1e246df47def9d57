"""Under which workload the numbers were measured, and which measurements are missing."""

from __future__ import annotations

from monitor.documents.material import Material, text_of
from monitor.documents.parts import Column, Drafting, Section, Voice

ASSUMED = (Column("assumption", "Assumption"), Column("value", "Declared"))
MISSING = (Column("measurement", "Measurement"), Column("why", "Why it is missing"))


def section(material: Material) -> Section:
    """Declared assumptions, and what the contract does not let anybody measure."""
    draft = Drafting("workload", "Workload assumptions and missing measurements")
    declared = material.contract.body.get("workload") or {}
    if not declared:
        draft.say("No workload is declared: latency and cost hold for whatever traffic came.",
                  Voice.MISSING)  # fmt: skip
    draft.table("assumed", "Declared workload", ASSUMED,
                [(name.replace("_", " "), text_of(value)) for name, value in declared.items()],
                "None.")  # fmt: skip
    draft.table("missing", "Not measured", MISSING, list(missing(material)),
                "Everything that this product can measure is declared.")  # fmt: skip
    return draft.done()


def missing(material: Material) -> list[tuple[str, str]]:
    """What can't be measured, as the contract declares nothing to measure it by."""
    body = material.contract.body
    roles = {each.get("role", "feature") for each in body.get("columns", ())}
    label = bool(body.get("label"))
    wanted = (
        (label, "quality and calibration", "no label is declared"),
        ("score" in roles, "calibration and confidence", "no column has the role score"),
        (bool(body.get("segments")), "groups", "no segments are declared"),
        ("timing" in roles, "latency", "no column has the role timing"),
        (bool(body.get("stages")), "stages of latency", "no stages are declared"),
        (bool(body.get("objective")), "goodput and missed objectives", "no objective is declared"),
        (bool(body.get("costs")), "cost of a request", "no costs are declared"),
        ("human_action" in roles, "overrides and appeals", "no column has the role human action"),
        ("user_impact" in roles, "impact on users", "no column has the role user impact"),
        (bool(body.get("signals")), "feedback of users", "no signals are declared"),
        (bool(body.get("workload")), "comparison of workloads", "no workload is declared"),
    )
    return [(what, why) for there, what, why in wanted if not there]
