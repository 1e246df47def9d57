"""What signed links can do: the form of each deed, and the deed itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.engine import Engine

from alerts.durations import parse_duration
from alerts.links import AlertLink, LinkDeed
from monitor.collector.link_view import Form, minute_text
from monitor.errors import ConfigurationError, Problem
from monitor.reports.alerts import Finding
from monitor.store.alert_silences import silence_alert
from monitor.store.engine import Role
from monitor.store.hand_over import MAX_COMMENT, MAX_NAME, acknowledge_alert


@dataclass(frozen=True)
class DeedForm:
    """How the page asks for a deed."""

    title: str
    says: tuple[str, ...]
    button: str
    lengths: tuple[tuple[str, str], ...] = ()
    chosen: str = ""

    def form(self, who: str) -> Form:
        """The form for a person; `who` is empty when the page has to ask."""
        return Form(
            self.button, who, self.lengths, self.chosen, max_name=MAX_NAME, max_comment=MAX_COMMENT
        )


@dataclass(frozen=True)
class Done:
    """What the page says afterwards."""

    title: str
    lines: tuple[str, ...]


FORMS: dict[LinkDeed, DeedForm] = {
    LinkDeed.ACKNOWLEDGE: DeedForm(
        title="Take this alert on?",
        says=("Escalation stops, and the others see that it is yours. The alert stays open.",),
        button="Acknowledge",
    ),
    LinkDeed.SILENCE: DeedForm(
        title="Keep these alerts quiet?",
        says=(
            "All alerts of the same rule and model are not told of for a while. They stay open, and"
            " what still fires afterwards is told then.",
        ),
        button="Silence",
        lengths=(("1h", "1 hour"), ("4h", "4 hours"), ("24h", "24 hours"), ("7d", "7 days")),
        chosen="4h",
    ),
}


def do_deed(
    engine: Engine,
    link: AlertLink,
    found: Finding,
    by: str,
    fields: Mapping[str, str],
    now: datetime,
) -> Done:
    """Do what the link says, by this person.

    Raises ConfigurationError when a field can't be used, AlertNotOpen when the alert ended or began
    anew meanwhile.
    """
    if link.deed is LinkDeed.SILENCE:
        return _silence(engine, link, found, by, fields, now)
    after = acknowledge_alert(
        engine, link.project, found.id, by, fields.get("comment", ""), now,
        episode=link.key.episode, role=Role.DASHBOARD,
    )  # fmt: skip
    lines = ("Escalation stops. The alert stays open until it recovers or is resolved.",)
    return Done(f"Taken on by {after.acknowledged_by}", lines)


def _silence(
    engine: Engine,
    link: AlertLink,
    found: Finding,
    by: str,
    fields: Mapping[str, str],
    now: datetime,
) -> Done:
    length = fields.get("for", "")
    if length not in dict(FORMS[LinkDeed.SILENCE].lengths):
        raise ConfigurationError("form", [Problem("for", "choose one of the lengths")])
    made = silence_alert(
        engine, link.project, found.id, now + parse_duration(length), by,
        fields.get("comment", ""), now, role=Role.DASHBOARD,
    )  # fmt: skip
    about = " and ".join(f"{each.label} {each.patterns[0]}" for each in made.matchers)
    lines = (
        f"Silence {made.id}, by {made.author}: alerts of {about} are not told of until"
        f" {minute_text(made.ends_at)}.",
        "It can be ended earlier in the dashboard.",
    )
    return Done("Silenced", lines)
