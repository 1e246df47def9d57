"""The run ledger: what was planned, what ran and how it ended. Silence is told as missing."""

from __future__ import annotations

from monitor.documents.material import Material
from monitor.documents.parts import Column, Drafting, Kind, Section, Voice
from monitor.reports.ledger import read_ledger

CHECKS = (
    Column("check", "Check"), Column("scale", "Window"),
    Column("windows", "Windows judged", Kind.WHOLE), Column("measured", "Measured", Kind.WHOLE),
    Column("too_few", "Too few", Kind.WHOLE), Column("failed", "Failed", Kind.WHOLE),
    Column("days_without", "Days without outcome", Kind.WHOLE),
)  # fmt: skip
JOBS = (
    Column("job", "Job"), Column("planned", "Windows planned", Kind.WHOLE),
    Column("done", "Finished", Kind.WHOLE), Column("open", "Not finished", Kind.WHOLE),
    Column("failures", "Failed attempts", Kind.WHOLE), Column("last", "Last finished", Kind.MOMENT),
)  # fmt: skip


def section(material: Material) -> Section:
    """Checks by outcome, jobs by state."""
    draft = Drafting("runs", "Run ledger: planned and done")
    found = read_ledger(material.connection, material.project_id, material.model_id,
                        material.period, material.known_by)  # fmt: skip
    draft.say(
        f"The period has {found.days} days. A day without outcome is one in which no window of"
        " that length began that was judged."
    )
    if not found.checks:
        draft.say("No check ran in this period.", Voice.BAD)
    checks = [
        (one.check.replace("_", " "), one.scale, one.windows, one.measured, one.too_few,
         one.failed, one.gap_days)
        for one in found.checks
    ]  # fmt: skip
    draft.table("checks", "Checks", CHECKS, checks)
    unfinished = sum(one.unfinished for one in found.jobs)
    if unfinished:
        draft.say(f"{unfinished:,} windows of jobs were not finished.", Voice.BAD)
    jobs = [(one.job.replace("-", " "), one.planned, one.done, one.unfinished, one.failures,
             one.last) for one in found.jobs]  # fmt: skip
    draft.table("jobs", "Jobs", JOBS, jobs)
    return draft.done()
