"""Which section addresses which point of which framework. It addresses; it never complies.

NIST AI 800-4 describes challenges, the AI RMF suggests outcomes, the others set duties: none of
them is met by a report alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from monitor.documents.parts import Column, Drafting, Section

DISCLAIMER = (
    "This table says which part of the report addresses which point. Whether a duty is met is for"
    " the people who answer for the system to judge."
)


@dataclass(frozen=True)
class Covered:
    """A point of a framework and the sections that address it; none: not addressed, and why."""

    framework: str
    point: str
    sections: tuple[str, ...]
    note: str = ""


_800, _RMF, _ACT = "NIST AI 800-4", "NIST AI RMF 1.0", "EU AI Act"
_SR, _ISO = "SR 26-2", "ISO/IEC 42001"
COVERAGE: tuple[Covered, ...] = (
    Covered(_800, "Functionality", ("drift", "quality", "calibration", "changes")),
    Covered(_800, "Operational", ("serving", "versions", "intake", "runs")),
    Covered(_800, "Human factors", ("humans", "groups")),
    Covered(_800, "Security", ("intake", "drift"),
            "only out-of-range values, novelty and volume; attacks are not looked for"),
    Covered(_800, "Compliance", ("plan", "findings", "retention")),
    Covered(_800, "Large-scale impacts", ("incidents",), "only what people record on incidents"),
    Covered(_RMF, "GOVERN 1.5 monitoring planned, roles defined", ("plan", "findings")),
    Covered(_RMF, "GOVERN 1.6 inventory", ("inventory", "versions")),
    Covered(_RMF, "MEASURE 2.4 monitored in production", ("runs", "quality", "drift", "serving")),
    Covered(_RMF, "MEASURE 2.11 fairness and bias", ("groups",)),
    Covered(_RMF, "MEASURE 3.1 existing and emergent risks", ("findings", "incidents")),
    Covered(_RMF, "MEASURE 3.3 feedback and appeal", ("humans",)),
    Covered(_RMF, "MEASURE 4.3 improvements and declines", ("quality", "changes")),
    Covered(_RMF, "MANAGE 2.4 supersede, disengage, deactivate", ("plan", "findings")),
    Covered(_RMF, "MANAGE 4.1 post-deployment monitoring plan", ("plan", "runs", "findings")),
    Covered(_RMF, "MANAGE 4.3 incidents tracked and documented", ("incidents", "findings")),
    Covered(_ACT, "Article 12 record-keeping", ("intake", "versions", "findings")),
    Covered(_ACT, "Article 19 logs kept at least six months", ("retention",)),
    Covered(_ACT, "Article 26(5) deployer monitors, informs, suspends", ("findings", "incidents")),
    Covered(_ACT, "Article 26(6) deployer keeps logs", ("retention",)),
    Covered(_ACT, "Article 72 post-market monitoring", ("plan", "quality", "drift", "runs")),
    Covered(_ACT, "Article 73 serious incidents", ("incidents",),
            "clocks and awareness; the classification is a person's"),
    Covered(_SR, "inventory and materiality", ("inventory",)),
    Covered(_SR, "ongoing monitoring", ("plan", "runs", "drift", "serving")),
    Covered(_SR, "outcomes analysis", ("quality", "calibration", "groups")),
    Covered(_SR, "conceptual soundness", (), "is judged before deployment, not by monitoring"),
    Covered(_ISO, "9.1 monitoring, measurement, analysis", ("plan", "runs", "quality", "limits")),
    Covered(_ISO, "A.6.2.6 operation and monitoring", ("serving", "findings")),
    Covered(_ISO, "A.6.2.8 event logs", ("intake", "retention")),
)  # fmt: skip
COLUMNS = (
    Column("framework", "Framework"), Column("point", "Point"),
    Column("sections", "Addressed by"), Column("note", "Note"),
)  # fmt: skip


def coverage_section(titles: dict[str, str]) -> Section:
    """The table, with the sections by their titles."""
    draft = Drafting("coverage", "What this report addresses")
    draft.say(DISCLAIMER)
    draft.table(
        "points", "Points by framework", COLUMNS,
        [
            (one.framework, one.point,
             "; ".join(titles[key] for key in one.sections) or "not addressed", one.note)
            for one in COVERAGE
        ],
    )  # fmt: skip
    return draft.done()
