"""What signed links can do: the form of each deed, and the deed itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.engine import Engine

from alerts.links import AlertLink, LinkDeed
from monitor.collector.link_view import Form
from monitor.reports.alerts import Finding
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
    comment = fields.get("comment", "")
    after = acknowledge_alert(
        engine, link.project, found.id, by, comment, now,
        episode=link.key.episode, role=Role.DASHBOARD,
    )  # fmt: skip
    lines = ("Escalation stops. The alert stays open until it recovers or is resolved.",)
    return Done(f"Taken on by {after.acknowledged_by}", lines)
