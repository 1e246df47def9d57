"""The findings register: what fired, who owns it, what was decided, what was done."""

from __future__ import annotations

from monitor.documents.findings_read import Episode, episodes
from monitor.documents.material import Material
from monitor.documents.parts import Cell, Column, Drafting, Kind, Section, Voice

FINDINGS = (
    Column("alert", "Alert", Kind.WHOLE), Column("episode", "Episode", Kind.WHOLE),
    Column("rule", "Rule"), Column("severity", "Severity"), Column("owner", "Owner"),
    Column("fired_at", "Fired", Kind.MOMENT), Column("noticed_at", "Noticed", Kind.MOMENT),
    Column("value", "Value", Kind.NUMBER), Column("low", "Low", Kind.NUMBER),
    Column("high", "High", Kind.NUMBER), Column("n", "n", Kind.WHOLE), Column("unit", "Unit"),
    Column("response", "Response due"),
    Column("acknowledged_at", "Acknowledged", Kind.MOMENT), Column("by", "By"),
    Column("resolved_at", "Resolved", Kind.MOMENT), Column("reason", "Reason"),
    Column("state", "State then"),
)  # fmt: skip
ANSWERS = (
    Column("alert", "Alert", Kind.WHOLE), Column("response", "Response"),
    Column("by", "Asked by"), Column("at", "Asked", Kind.MOMENT), Column("how", "How"),
    Column("outcome", "Outcome"), Column("outcome_at", "Recorded", Kind.MOMENT),
)  # fmt: skip
WORDS = (
    Column("alert", "Alert", Kind.WHOLE), Column("sentence", "What was told"),
    Column("comment", "Comments of people"),
)  # fmt: skip


def section(material: Material) -> Section:
    """Every episode that fired in the period or was still open in it."""
    draft = Drafting("findings", "Findings register")
    found = episodes(material)
    if not found:
        draft.say("No alert of this model fired in the period or was open in it.")
    still = [one for one in found if one.resolved_at is None]
    untaken = [one for one in still if one.acknowledged_at is None]
    if still:
        draft.say(
            f"{len(still)} of {len(found)} findings were not resolved; nobody had acknowledged"
            f" {len(untaken)} of them.", Voice.BAD if untaken else Voice.TOLD,
        )  # fmt: skip
    draft.table("findings", "Findings", FINDINGS, [_line(one) for one in found],
                "No finding.")  # fmt: skip
    draft.table(
        "responses", "Responses and their outcome", ANSWERS,
        [
            (one.alert_id, _words(each.response), each.requested_by, each.requested_at,
             "dry run" if each.dry_run else "for real", each.outcome or "not recorded",
             each.outcome_at)
            for one in found for each in one.answers
        ],
        "No automatic response was asked for.",
    )  # fmt: skip
    told = [(one.alert_id, _sentence(one), "; ".join(one.comments)) for one in found]
    draft.table("words", "In words", WORDS, told, "No finding.")
    return draft.done()


def _line(one: Episode) -> tuple[Cell, ...]:
    rule, judged = one.rule, one.reading
    return (
        one.alert_id, one.number, one.rule_name, rule.severity.value if rule else None,
        rule.owner if rule else None, one.fired_at, one.noticed_at, judged.get("value"),
        judged.get("low"), judged.get("high"), judged.get("n"), judged.get("unit"),
        _words(rule.response.value) if rule else None, one.acknowledged_at, one.acknowledged_by,
        one.resolved_at, _words(one.resolved_reason), one.known_state,
    )  # fmt: skip


def _sentence(one: Episode) -> str:
    labels = one.reading.get("labels") or {}
    names = ("check", "method", "column", "deployment", "segment", "scale")
    about = ", ".join(f"{name} {labels[name]}" for name in names if labels.get(name))
    impact = one.rule.impact if one.rule else None
    return " ".join(part for part in (f"{one.rule_name}: {about}.", impact) if part)


def _words(name: str | None) -> str | None:
    return name.replace("_", " ") if name else None
