"""The message that asks a deployment system for an action. Pure.

Its body is made for programs: type `response.requested`, and all that is needed to act in `data`.
`docs/responses.md` documents it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alerts.actions import ServingDeployment
from alerts.alert_body import Json
from alerts.groups import EventType
from alerts.messages import Message
from alerts.model import ResponseAction, Severity
from alerts.text import clean, moment_text, words

_TEXT, _TAGS, _LABELS = 300, 40, 20


@dataclass(frozen=True)
class AlertFacts:
    """The alert that an action answers. `number` is None in a rehearsal, which stores none."""

    number: int | None
    rule: str
    finding_id: str
    labels: Mapping[str, str]
    summary: str = ""
    link: str = ""


@dataclass(frozen=True)
class ActionOrder:
    """All that the message says.

    `returns` is the number of the action whose former state is asked for again, `former` what the
    receiver said then. An answer is expected until `answer_by`; whoever gets the message later
    must not act on it. The change ends at `expires_at`: the former state is asked for then.
    """

    number: int
    project: str
    model: str
    response: str
    action: ResponseAction
    receiver: str
    deployments: tuple[ServingDeployment, ...]
    to_percent: float | None
    from_percent: float | None
    dry_run: bool
    drill: bool
    requested_by: str
    answer_by: datetime
    alert: AlertFacts
    outcome_url: str
    expires_at: datetime | None = None
    returns: int | None = None
    former: Mapping[str, Any] | None = None


def action_message(order: ActionOrder, now: datetime) -> Message:
    """The order as a message for its receiver. It is as urgent as a page: something is broken."""
    title = _title(order)
    return Message(
        event=EventType.RESPONSE_REQUESTED,
        receiver=order.receiver,
        severity=Severity.PAGE,
        title=title,
        lines=_lines(order),
        body={
            "type": EventType.RESPONSE_REQUESTED.value,
            "timestamp": moment_text(now),
            "data": _data(order),
        },
        new=(),
        group=f"action/{order.project}/{order.model}",
        drill=order.drill,
    )


def _data(order: ActionOrder) -> dict[str, Json]:
    return {
        "action_id": order.number,
        "response": clean(order.response, _TEXT),
        "action": order.action.value,
        "project": clean(order.project, _TEXT),
        "model": clean(order.model, _TEXT),
        "deployments": [_deployment(each) for each in order.deployments],
        "parameters": {"to_percent": order.to_percent, "from_percent": order.from_percent},
        "dry_run": order.dry_run,
        "drill": order.drill,
        "requested_by": clean(order.requested_by, _TEXT),
        "answer_by": moment_text(order.answer_by),
        "expires_at": moment_text(order.expires_at) if order.expires_at is not None else None,
        "returns": order.returns,
        "former": dict(order.former) if order.former is not None else None,
        "alert": _alert(order.alert),
        "outcome_url": order.outcome_url,
    }


def _deployment(each: ServingDeployment) -> Json:
    tags = list(each.tags.items())[:_TAGS]
    return {
        "number": each.number,
        "name": clean(each.name, _TEXT) if each.name else None,
        "tags": {name: clean(value, _TEXT) for name, value in tags},
    }


def _alert(facts: AlertFacts) -> Json:
    labels = list(facts.labels.items())[:_LABELS]
    return {
        "number": facts.number,
        "rule": clean(facts.rule, _TEXT),
        "finding_id": facts.finding_id,
        "labels": {name: clean(value, _TEXT) for name, value in labels},
        "summary": clean(facts.summary, _TEXT),
        "link": clean(facts.link, _TEXT),
    }


def _title(order: ActionOrder) -> str:
    marks = "[DRILL] " if order.drill else ""
    marks += "[dry run] " if order.dry_run else ""
    what = "return to the former state" if order.returns else words(order.action)
    return clean(f"{marks}{order.model}: {what} (action {order.number})", 200)


def _lines(order: ActionOrder) -> tuple[str, ...]:
    names = ", ".join(each.name or str(each.number) for each in order.deployments)
    lines = [f"Asked by {order.requested_by}, response {order.response}"]
    if names:
        lines.append(f"Deployments: {names}")
    if order.to_percent is not None:
        before = f" from {order.from_percent:.1f} %" if order.from_percent is not None else ""
        lines.append(f"Traffic:{before} to {order.to_percent:g} %")
    if order.dry_run:
        lines.append("Dry run: change nothing, only say whether it could be done")
    lines.append(f"Report the outcome until {moment_text(order.answer_by)}: {order.outcome_url}")
    return tuple(clean(line, 500) for line in lines)
