"""Alerts as JSON values: the same words in the HTTP interface, on the command line and in exports.

Moments stay datetimes; whoever writes the JSON makes them ISO 8601.
"""

from __future__ import annotations

from typing import Any

from alerts.model import FindingKey
from alerts.silences import Silence
from alerts.summaries import alert_link
from monitor.reports.alert_detail import AlertDetail
from monitor.reports.alert_sends import SendLine
from monitor.reports.alerts import Finding
from monitor.store.actions import StoredAction

RULE_TEXTS = ("runbook", "impact", "precondition", "limit", "command")


def alert_json(found: Finding, public_url: str) -> dict[str, Any]:
    """One alert of a list."""
    return {
        "number": found.id,
        "finding": FindingKey(found.fingerprint, found.episode).finding_id,
        "fingerprint": found.fingerprint,
        "episode": found.episode,
        "rule": found.rule_name,
        "model": found.model,
        "what": found.sentence,
        "threshold": found.threshold,
        "state": found.state,
        "data_state": found.data_state,
        "standing": found.standing,
        "severity": found.severity,
        "owner": found.owner,
        "response": _response(found),
        "since": found.since,
        "noticed_at": found.noticed_at,
        "fired_at": found.fired_at,
        "resolved_at": found.resolved_at,
        "resolved_reason": found.resolved_reason,
        "acknowledged_by": found.acknowledged_by,
        "acknowledged_at": found.acknowledged_at,
        "comment": found.comment,
        "snoozed_until": found.snoozed_until,
        "archived_by": found.archived_by,
        "labels": dict(found.labels),
        "measurement": _measurement(found),
        "told": told_json(found),
        "silences": [each.id for each in found.silences],
        "link": alert_link(public_url, found.fingerprint),
    }


def detail_json(detail: AlertDetail, public_url: str) -> dict[str, Any]:
    """One alert with its history, messages and actions."""
    return {
        **alert_json(detail.finding, public_url),
        "fired_in_30_days": detail.fired_in_30_days,
        "told_false_in_30_days": detail.told_false_in_30_days,
        "history": [vars(each) for each in detail.timeline],
        "deliveries": [send_json(each) for each in detail.sends],
        "actions": [action_json(each) for each in detail.actions],
    }


def told_json(found: Finding) -> list[dict[str, Any]]:
    """What each receiver was last told of this episode."""
    return [
        {"receiver": name, "event": told.event.value, "at": told.at, "times": told.times}
        for name, told in sorted(found.told.items())
    ]


def send_json(one: SendLine) -> dict[str, Any]:
    """One owed message with its attempts."""
    return {**vars(one), "attempts": [vars(each) for each in one.attempts]}


def action_json(one: StoredAction) -> dict[str, Any]:
    """One action; shares are in percent of all traffic."""
    return {**vars(one), "former": dict(one.former) if one.former is not None else None}


def silence_json(one: Silence) -> dict[str, Any]:
    """One silence; a label fits one of its patterns."""
    return {
        "number": one.id,
        "matchers": {each.label: list(each.patterns) for each in one.matchers},
        "author": one.author,
        "reason": one.reason,
        "starts_at": one.starts_at,
        "ends_at": one.ends_at,
    }


def _response(found: Finding) -> dict[str, Any]:
    rule = found.rule
    texts = {name: getattr(rule, name) if rule is not None else None for name in RULE_TEXTS}
    return {"action": found.response, "name": found.response_name, **texts}


def _measurement(found: Finding) -> dict[str, Any] | None:
    return {**vars(found.judged)} if found.judged is not None else None
