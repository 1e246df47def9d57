"""The monitoring plan in force: what is judged, by which limit, who answers, and its changes."""

from __future__ import annotations

from alerts.conditions.allowed import AllowedRange
from alerts.config import AlertConfig
from alerts.rules import Bounds, Rule
from monitor.documents.material import Material, RulesVersion
from monitor.documents.parts import Column, Drafting, Kind, Row, Section, Voice

RULES = (
    Column("rule", "Rule"), Column("when", "Judges"), Column("breach", "Breach"),
    Column("holds", "For", Kind.TEXT), Column("minimum_n", "Least n", Kind.WHOLE),
    Column("severity", "Severity"), Column("owner", "Owner"), Column("response", "Response"),
    Column("runbook", "Runbook"), Column("impact", "Impact"),
    Column("basis", "Basis of the limit"),
)  # fmt: skip
CHANGES = (
    Column("version", "Version", Kind.WHOLE), Column("by", "Approved and applied by"),
    Column("at", "Applied", Kind.MOMENT), Column("added", "Rules added"),
    Column("removed", "Rules removed"), Column("changed", "Rules changed"),
)  # fmt: skip


def section(material: Material) -> Section:
    """The plan at the end of the period, and what changed in it."""
    draft = Drafting("plan", "Monitoring plan in force")
    in_force = material.rules_at(material.period.end) or material.rules_at(material.known_by)
    if in_force is None:
        draft.say("No alert rules were in force: nothing would have been told.", Voice.BAD)
        return draft.done()
    draft.say(
        f"Version {in_force.version} of the alert rules was in force, applied by {in_force.by}"
        f" at {in_force.at:%Y-%m-%d %H:%M} UTC."
    )
    if in_force.config is None:
        draft.say("This program can't read that version any more.", Voice.MISSING)
    else:
        rules = [rule for rule in in_force.config.rules if _is_about(rule, material.name)]
        if not rules:
            draft.say("None of its rules is about this model.", Voice.BAD)
        draft.table("rules", "Rules", RULES, [_line(rule) for rule in rules])
    draft.table("changes", "Changes of the plan up to the end of the period", CHANGES,
                _changes(material))  # fmt: skip
    _promise(material, draft)
    return draft.done()


def _is_about(rule: Rule, name: str) -> bool:
    asked = [each for each in rule.when if each.label == "model"]
    return not asked or any(name in each.patterns or "*" in each.patterns for each in asked)


def _line(rule: Rule) -> Row:
    asks = "; ".join(f"{each.label}: {', '.join(each.patterns)}" for each in rule.when)
    holds = f"{rule.hold} windows" if rule.hold != 1 else "1 window"
    if rule.hold_time:
        holds += f" and {rule.hold_time}"
    return (
        rule.name, asks, _breach(rule), holds, rule.minimum_n, rule.severity.value, rule.owner,
        rule.response.value.replace("_", " "), rule.runbook,
        rule.impact, _basis(rule),
    )  # fmt: skip


def _basis(rule: Rule) -> str:
    if any(each.label == "check" and "incident" in each.patterns for each in rule.when):
        return "the promise on false incidents and the model's own weeks"
    if isinstance(rule.condition, AllowedRange):
        return "the allowed range that the rule declares"
    return "set by the people who approved the rules"


def _breach(rule: Rule) -> str:
    condition = rule.condition
    if isinstance(condition, Bounds):
        limits = (("below", condition.lower), ("above", condition.upper))
        return " or ".join(f"{side} {limit:g}" for side, limit in limits if limit is not None)
    return type(condition).__name__


def _changes(material: Material) -> list[Row]:
    told = []
    before: AlertConfig | None = None
    for each in material.rules:
        told.append(_change(each, before))
        before = each.config
    return told


def _change(one: RulesVersion, before: AlertConfig | None) -> Row:
    new = {rule.name: rule for rule in one.config.rules} if one.config else {}
    old = {rule.name: rule for rule in before.rules} if before else {}
    parts = (
        new.keys() - old.keys(), old.keys() - new.keys(),
        {name for name in new.keys() & old.keys() if new[name] != old[name]},
    )  # fmt: skip
    return (one.version, one.by, one.at, *(", ".join(sorted(names)) for names in parts))


def _promise(material: Material, draft: Drafting) -> None:
    alarms = material.contract.body.get("alarms") or {}
    most = alarms.get("false_incidents_a_month", 1.0)
    draft.say(
        f"Drift alarms promise at most {most:g} false incidents a month for this model; limits of"
        " drift follow from that promise and the model's own weeks."
    )
