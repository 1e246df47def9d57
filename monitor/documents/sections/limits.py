"""What these numbers can't say, and what was not looked at."""

from __future__ import annotations

from monitor.documents.material import Material
from monitor.documents.parts import Column, Drafting, Section, Voice

LIMITS = (Column("limit", "Limit"),)
GENERAL = (
    "Intervals take requests as independent unless an entity column is declared; many requests of"
    " one entity make them wider in truth.",
    "A window counts by the time of its requests; labels that came after the stated moment are not"
    " in these numbers.",
    "Counts on cells of a binning stand in place of raw values; the error that costs is stored"
    " with each measurement.",
    "States of jobs, counts of received bodies and open incidents are those of the moment the"
    " report was built, cut at the stated moment; measurements and findings are as they were.",
    "The report covers the live leg; shadow, batch and replay traffic are in none of its numbers"
    " except where a golden set says so.",
)


def section(material: Material) -> Section:
    """General limits, and what this model's contract leaves unmeasured."""
    draft = Drafting("limits", "Limits of what was measured")
    if material.known_by < material.period.end:
        draft.say("The report is as known before its period ended: its last days are not whole.",
                  Voice.MISSING)  # fmt: skip
    draft.table("limits", "Limits", LIMITS, [(text,) for text in GENERAL])
    return draft.done()
