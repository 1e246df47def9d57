"""What `inferwatch alerts show` says of who knows of an alert and of what was asked about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.cli.common import plain

if TYPE_CHECKING:
    from monitor.reports.alert_detail import AlertDetail

EVENTS = {"opened": "told of it", "got_worse": "told that it got worse", "ended": "told of its end"}


def told_facts(detail: AlertDetail) -> dict[str, Any]:
    """Receivers, messages and actions as JSON values."""
    from monitor.reports.alert_json import action_json, send_json, told_json

    return {
        "told": told_json(detail.finding),
        "deliveries": [send_json(each) for each in detail.sends],
        "actions": [action_json(each) for each in detail.actions],
        "server": list(detail.servers.server),
        "look_at": list(detail.servers.look_at),
    }


def told_lines(detail: AlertDetail) -> list[str]:
    """The same for people; nothing where nobody was told and nothing asked."""
    told = [
        f"  {plain(name)} was {EVENTS[each.event.value]} {plain(each.at)}"
        + (f", {each.times} times" if each.times > 1 else "")
        for name, each in sorted(detail.finding.told.items())
    ]
    if detail.deliveries_waiting:
        told.append(f"  {detail.deliveries_waiting} messages wait to be sent")
    if detail.deliveries_dead:
        told.append(f"  {detail.deliveries_dead} messages could not be delivered")
    asked = [
        f"  {plain(each.requested_at)}  action {each.number}, {plain(each.response)}: {each.state}"
        f", asked for by {plain(each.requested_by)}"
        + (f": {plain(each.text)}" if each.text else "")
        for each in detail.actions
    ]
    lines = ["", "Who was told:", *told] if told else []
    return lines + (["", "Actions:", *asked] if asked else []) + _server_lines(detail)


def _server_lines(detail: AlertDetail) -> list[str]:
    found = detail.servers
    told = [f"  {plain(each)}" for each in found.server]
    areas = [f"  {plain(each)}" for each in found.look_at]
    lines = ["", "The model's servers then (context, no proof):", *told] if told else []
    return lines + (["", "Areas to measure, no conclusion:", *areas] if areas else [])
