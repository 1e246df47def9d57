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
from alerts.message_body import MAXIMUM_BODY_BYTES, encode_body
from alerts.messages import Message
from alerts.model import ResponseAction, Severity
from alerts.text import clean, moment_text, words

_MOST_NAMED = 50


@dataclass(frozen=True)
class _Limits:
    """How much is told: characters of a text, tags of a deployment, labels of the alert."""

    text: int
    tags: int
    labels: int


_TIGHTER = (_Limits(300, 40, 20), _Limits(100, 12, 20), _Limits(60, 0, 10))
_NUMBERS_ONLY = _Limits(0, 0, 0)


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
        body=_fitting_body(order, now),
        new=(),
        group=f"action/{order.project}/{order.model}",
        drill=order.drill,
    )


def _fitting_body(order: ActionOrder, now: datetime) -> dict[str, Json]:
    """All that is needed to act always fits; tags and texts are cut when there are many."""
    for limits in _TIGHTER:
        body: dict[str, Json] = {
            "type": EventType.RESPONSE_REQUESTED.value,
            "timestamp": moment_text(now),
            "data": _data(order, limits),
        }
        if len(encode_body(body)) < MAXIMUM_BODY_BYTES:
            return body
    raise AssertionError("an order told tightly fits: every text in it is capped")


def _data(order: ActionOrder, limits: _Limits) -> dict[str, Json]:
    most = limits.text
    return {
        "action_id": order.number,
        "response": clean(order.response, most),
        "action": order.action.value,
        "project": clean(order.project, most),
        "model": clean(order.model, most),
        "deployments": [
            _deployment(each, limits if place < _MOST_NAMED else _NUMBERS_ONLY)
            for place, each in enumerate(order.deployments)
        ],
        "parameters": {"to_percent": order.to_percent, "from_percent": order.from_percent},
        "dry_run": order.dry_run,
        "drill": order.drill,
        "requested_by": clean(order.requested_by, most),
        "answer_by": moment_text(order.answer_by),
        "expires_at": moment_text(order.expires_at) if order.expires_at is not None else None,
        "returns": order.returns,
        "former": dict(order.former) if order.former is not None else None,
        "alert": _alert(order.alert, limits),
        "outcome_url": clean(order.outcome_url, 500),
    }


def _deployment(each: ServingDeployment, limits: _Limits) -> Json:
    tags = list(each.tags.items())[: limits.tags]
    return {
        "number": each.number,
        "name": clean(each.name, limits.text) if each.name and limits.text else None,
        "tags": {name: clean(value, limits.text) for name, value in tags},
    }


def _alert(facts: AlertFacts, limits: _Limits) -> Json:
    labels = list(facts.labels.items())[: limits.labels]
    return {
        "number": facts.number,
        "rule": clean(facts.rule, limits.text),
        "finding_id": facts.finding_id,
        "labels": {name: clean(value, limits.text) for name, value in labels},
        "summary": clean(facts.summary, limits.text),
        "link": clean(facts.link, 500),
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
