"""How long what is kept."""

from __future__ import annotations

from monitor.documents.material import Material
from monitor.documents.parts import Column, Drafting, Section

KEPT = (Column("what", "What"), Column("how_long", "How long"), Column("why", "Set by"))
FOR_GOOD = "for good"


def section(material: Material) -> Section:
    """Retention in force."""
    draft = Drafting("retention", "Retention")
    body = material.contract.body.get("retention") or {}
    own = f"contract version {material.contract.version}"
    draft.table(
        "kept", "Retention in force", KEPT,
        [
            ("request rows and samples", str(body.get("requests", "90d")), own),
            ("labels", str(body.get("labels", "365d")), own),
            ("profiles, measurements, estimates, comparisons", FOR_GOOD, "product"),
            ("alerts, transitions, deliveries, responses, silences", FOR_GOOD, "product"),
            ("contracts, alert rules, deployments", FOR_GOOD, "product"),
        ],
    )  # fmt: skip
    return draft.done()
