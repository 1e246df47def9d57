"""Alerts as rows and back. What is looked for stands in columns, the rest in the JSON body."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from alerts.codec import reading_from_json, reading_to_json
from alerts.model import (
    Alert,
    AlertState,
    Archive,
    DataState,
    End,
    Labels,
    Reading,
    ResolvedReason,
    Standing,
    Told,
    ToldEvent,
)
from alerts.rules import Rule


def alert_from_row(row: Any) -> Alert:
    """The alert that a row holds."""
    body = row.body
    return Alert(
        fingerprint=row.fingerprint,
        rule=row.rule,
        labels=Labels.from_mapping(body["labels"]),
        state=AlertState(row.state),
        data_state=DataState(row.data_state),
        episode=row.episode,
        since=row.since,
        pending_since=_moment(body["pending_since"]),
        clear_since=_moment(body.get("clear_since")),
        fired_at=row.fired_at,
        noticed_at=row.noticed_at,
        resolved_at=row.resolved_at,
        resolved_reason=ResolvedReason(row.resolved_reason) if row.resolved_reason else None,
        last_reading=_reading(body["last_reading"]),
        last_judged=_reading(body["last_judged"]),
        breaches=body["breaches"],
        clears=body["clears"],
        version=body["version"],
        acknowledged_by=row.acknowledged_by,
        acknowledged_at=row.acknowledged_at,
        resolved_by=body["resolved_by"],
        comment=body["comment"],
        standing=Standing(row.standing),
        excess=body.get("excess"),
        archive=_archive(body.get("archive")),
        snoozed_until=row.snoozed_until,
        remind_at=_moment(body.get("remind_at")),
        told={name: _told(kept) for name, kept in (body.get("told") or {}).items()},
        ends={
            int(episode): End(ResolvedReason(kept["reason"]), datetime.fromisoformat(kept["at"]))
            for episode, kept in (body.get("ends") or {}).items()
        },
    )


def row_of_alert(one: Alert, rule: Rule) -> dict[str, Any]:
    """The values of a row; the rule gives severity, owner and response."""
    return {
        "fingerprint": one.fingerprint,
        "rule": one.rule,
        "model": one.labels.get("model", ""),
        "state": one.state.value,
        "data_state": one.data_state.value,
        "severity": rule.severity.value,
        "owner": rule.owner,
        "response": rule.response.value,
        "episode": one.episode,
        "since": one.since,
        "fired_at": one.fired_at,
        "noticed_at": one.noticed_at,
        "resolved_at": one.resolved_at,
        "resolved_reason": one.resolved_reason.value if one.resolved_reason else None,
        "acknowledged_by": one.acknowledged_by,
        "acknowledged_at": one.acknowledged_at,
        "standing": one.standing.value,
        "snoozed_until": one.snoozed_until,
        "settled": one.is_settled,
        "body": _body(one),
    }


def told_to_json(told: Mapping[str, Told]) -> dict[str, Any]:
    """What receivers know, by their names."""
    return {
        name: {
            "episode": each.episode,
            "event": each.event.value,
            "at": each.at.isoformat(),
            "times": each.times,
            "excess": each.excess,
            "first_at": _text(each.first_at),
            "group": each.group,
        }
        for name, each in told.items()
    }


def _body(one: Alert) -> dict[str, Any]:
    archive = one.archive
    return {
        "labels": dict(one.labels),
        "pending_since": _text(one.pending_since),
        "clear_since": _text(one.clear_since),
        "last_reading": reading_to_json(one.last_reading) if one.last_reading else None,
        "last_judged": reading_to_json(one.last_judged) if one.last_judged else None,
        "breaches": one.breaches,
        "clears": one.clears,
        "version": one.version,
        "resolved_by": one.resolved_by,
        "comment": one.comment,
        "excess": one.excess,
        "remind_at": _text(one.remind_at),
        "archive": None
        if archive is None
        else {"by": archive.by, "at": archive.at.isoformat(), "excess": archive.excess},
        "told": told_to_json(one.told),
        "ends": {
            str(episode): {"reason": each.reason.value, "at": each.at.isoformat()}
            for episode, each in one.ends.items()
        },
    }


def _told(kept: Mapping[str, Any]) -> Told:
    return Told(
        episode=kept["episode"],
        event=ToldEvent(kept["event"]),
        at=datetime.fromisoformat(kept["at"]),
        times=kept["times"],
        excess=kept["excess"],
        first_at=_moment(kept.get("first_at")),
        group=_pairs(kept.get("group")),
    )


def _pairs(kept: Any) -> tuple[tuple[str, str], ...] | None:
    return tuple((name, value) for name, value in kept) if kept is not None else None


def _archive(kept: Mapping[str, Any] | None) -> Archive | None:
    if kept is None:
        return None
    return Archive(kept["by"], datetime.fromisoformat(kept["at"]), kept["excess"])


def _reading(kept: Mapping[str, Any] | None) -> Reading | None:
    return reading_from_json(kept) if kept is not None else None


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None
