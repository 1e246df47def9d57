"""Alerts in the words of Prometheus and Alertmanager: labels that identify, annotations that tell.

Values, times and probabilities stand in annotations only: in a label they would make another alert
of the same one. Equal alerts get equal labels in every message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from alerts.alert_body import Json
from alerts.channels.facts import is_over, text_at
from alerts.messages import Message
from alerts.text import words

NOT_OVER = "0001-01-01T00:00:00Z"
"""How Alertmanager writes the end of an alert that has none yet."""

Alert = Mapping[str, Json]


def alerts_of(message: Message) -> tuple[Alert, ...]:
    """The alerts of a message, new and changed ones first; none in a message about other things."""
    listed = data_of(message).get("alerts")
    found = listed if isinstance(listed, list) else []
    return tuple(each for each in found if isinstance(each, dict))


def data_of(message: Message) -> Mapping[str, Json]:
    """The structured content of a message."""
    data = message.body.get("data")
    return data if isinstance(data, dict) else {}


def labels_of(alert: Alert, *, drill: bool) -> dict[str, str]:
    """The identity of an alert. `inferwatch_id` tells apart what capped labels could not."""
    labels = {name: str(value) for name, value in mapping(alert, "labels").items() if value}
    own = {
        "alertname": text_at(alert, "rule"),
        "severity": text_at(alert, "severity"),
        "owner": text_at(alert, "owner"),
        "response": text_at(alert, "response", "action"),
        "inferwatch_id": text_at(alert, "fingerprint")[:24],
        "drill": "true" if drill else "",
    }
    return {**labels, **{name: value for name, value in own.items() if value}}


def annotations_of(alert: Alert) -> dict[str, str]:
    """Everything that is told of an alert, as texts; what is not known is left out."""
    return {name: value for name, value in _annotations(alert) if value}


def message_labels(message: Message, delivery_id: str) -> dict[str, str]:
    """Labels of a message that is not about alerts, such as one that reached nobody."""
    labels = {
        "alertname": message.event.value,
        "severity": message.severity.value,
        "project": text_at(data_of(message), "project"),
        "inferwatch_id": delivery_id,
        "drill": "true" if message.drill else "",
    }
    return {name: value for name, value in labels.items() if value}


def message_annotations(message: Message) -> dict[str, str]:
    """Annotations of a message that is not about alerts."""
    told = {"summary": message.title, "description": "\n".join(message.lines)}
    return {name: value for name, value in told.items() if value}


def started(alert: Alert, otherwise: str) -> str:
    """When the alert fired, in the time of the data."""
    return text_at(alert, "fired_at") or text_at(alert, "since") or otherwise


def mapping(found: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """The keys and values at a key; empty when there are none."""
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def _annotations(alert: Alert) -> Iterator[tuple[str, str]]:
    measured = mapping(alert, "measurement")
    yield "summary", text_at(alert, "summary")
    yield "description", _description(alert)
    yield "state_change", words(text_at(alert, "change"))
    yield "resolved_reason", words(text_at(alert, "reason"))
    for name in ("value", "low", "high", "n"):
        yield name, _number(measured.get(name))
    yield "unit", text_at(measured, "unit")
    yield "threshold", text_at(alert, "threshold", "text")
    yield "window", _span(mapping(measured, "window"))
    for name in ("baseline", "quality", "automatic", "data_until", "acknowledged_by"):
        yield name, text_at(alert, name)
    yield "data_state", text_at(alert, "data_state")
    yield "standing", text_at(alert, "standing")
    yield "fired_30_days", _number(alert.get("fired_30_days"))
    yield "traffic_share", _number(mapping(alert, "traffic").get("share"))
    yield "changed", _changed(alert)
    yield "runbook_url", text_at(alert, "response", "runbook")
    for name in ("command", "impact", "precondition", "limit"):
        yield name, text_at(alert, "response", name)
    for name in ("alert", "acknowledge", "silence", "evidence"):
        yield f"{name}_url", text_at(alert, "links", name)


def _description(alert: Alert) -> str:
    action, owner = text_at(alert, "response", "action"), text_at(alert, "owner")
    due = f"Response: {words(action)}, owner {owner}." if action and not is_over(alert) else ""
    return " ".join(part for part in (text_at(alert, "about", "meaning"), due) if part)


def _changed(alert: Alert) -> str:
    listed = alert.get("changed")
    found = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return "; ".join(map(_changed_tag, found))


def _changed_tag(each: Mapping[str, Json]) -> str:
    before, after = (text_at(each, name) or "unknown" for name in ("before", "after"))
    where, when = text_at(each, "deployment"), text_at(each, "at")
    return f"{text_at(each, 'tag')} {before} → {after} ({where}, {when})"


def _span(window: Mapping[str, Json]) -> str:
    start, end = text_at(window, "start"), text_at(window, "end")
    return f"{start} to {end}" if start and end else ""


def _number(value: Json) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return f"{value:.6g}" if isinstance(value, float) else ""
