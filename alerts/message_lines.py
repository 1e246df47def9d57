"""A group of alerts as lines for people: the first alerts in full, the rest a line each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from alerts.context import AlertContext
from alerts.groups import Change, Entry, Group
from alerts.message_body import MAXIMUM_LISTED, TOLD_IN_FULL
from alerts.model import DataState, Reading, Standing
from alerts.rules import Rule
from alerts.summaries import WORDING, alert_link, reading_of, summary_of
from alerts.text import clean, moment_text, words

_LINE_LIMIT = 500
_LINK_LINE_LIMIT = 1100
DRILL_LINE = "This is a drill: nothing is wrong and nothing must be changed. Please take it on."


def lines_of(group: Group, dashboard_url: str) -> tuple[str, ...]:
    """What people read below the title, cleaned, each line capped."""
    lines = [DRILL_LINE] if group.drill else []
    lines += [group.note] if group.note else []
    for place, entry in enumerate(group.entries[:MAXIMUM_LISTED]):
        if place < TOLD_IN_FULL:
            lines.extend(_full(entry, dashboard_url))
        else:
            lines.append(f"{_headline(entry)} {alert_link(dashboard_url, entry.alert.fingerprint)}")
    hidden = len(group.entries) - MAXIMUM_LISTED
    if hidden > 0:
        lines.append(f"{hidden:,} more alerts of this group are not listed: {dashboard_url}")
    return tuple(_capped(line) for line in lines)


def _capped(line: str) -> str:
    """A line that ends in a link keeps the whole link."""
    return clean(line, _LINK_LINE_LIMIT if "://" in line else _LINE_LIMIT)


def _full(entry: Entry, dashboard_url: str) -> Iterator[str]:
    rule, reading, known = entry.rule, reading_of(entry), entry.context
    yield _headline(entry)
    if reading is not None:
        yield from _numbers(rule, reading, known)
    yield from _times(entry)
    yield from _surroundings(known)
    if rule.about is not None:
        yield WORDING[rule.about]
    if entry.change is not Change.ENDED:
        yield from _response(rule, known)
    yield from _links(entry, dashboard_url)


def _headline(entry: Entry) -> str:
    summary = summary_of(entry.rule, entry.alert.labels, reading_of(entry))
    return f"{_standing(entry)}: {summary}"


def _standing(entry: Entry) -> str:
    if entry.change is Change.ENDED:
        return f"resolved ({words(entry.alert.resolved_reason or 'recovered')})"
    again = entry.change is Change.OPENED and entry.alert.standing is Standing.REGRESSED
    return "opened again" if again else words(entry.change)


def _numbers(rule: Rule, reading: Reading, known: AlertContext) -> Iterator[str]:
    if reading.value is not None:
        unit = f" {reading.unit}" if reading.unit else ""
        against = f"; compared with {known.baseline}" if known.baseline else ""
        yield f"Value {reading.value:.4g}{unit}, alert when {rule.condition.describe()}{against}"
    start, end = moment_text(reading.window_start), moment_text(reading.at)
    interval = (
        ""
        if reading.low is None or reading.high is None
        else f", interval {reading.low:.4g} to {reading.high:.4g}"
    )
    until = f"; data until {moment_text(known.data_until)}" if known.data_until else ""
    yield f"Window {start} to {end}, n {reading.n:,}{interval}{until}"


def _times(entry: Entry) -> Iterator[str]:
    alert, fired = entry.alert, entry.context.fired
    parts = [f"Since {moment_text(alert.pending_since)}"] if alert.pending_since else []
    if entry.change is Change.ENDED and alert.resolved_at is not None:
        parts.append(f"over since {moment_text(alert.resolved_at)}")
    if fired is not None:
        parts.append(f"fired {_times_text(fired)} in 30 days")
    if alert.data_state is not DataState.OK:
        parts.append(f"its data now: {words(alert.data_state)}")
    if alert.acknowledged_by:
        parts.append(f"taken on by {alert.acknowledged_by}")
    if parts:
        yield ", ".join(parts)


def _times_text(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _surroundings(known: AlertContext) -> Iterator[str]:
    if known.traffic is not None:
        requests, total = known.traffic.requests, known.traffic.total
        yield f"Concerns {known.traffic.share:.0%} of the requests then ({requests:,} of {total:,})"
    for each in known.changed:
        before, after = each.before or "unknown", each.after or "unknown"
        yield (
            f"Changed before it began: {each.tag} {before} → {after}, "
            f"deployment {each.deployment}, {_minute(each.at)}"
        )
    if known.quality:
        yield f"Known then: {known.quality}"
    if known.server:
        yield f"Its servers then: {'; '.join(known.server)}"
    yield from (f"To measure, no conclusion: {each}" for each in known.look_at)
    if known.action:
        yield f"Automatic action: {known.action}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _response(rule: Rule, known: AlertContext) -> Iterator[str]:
    name = f" ({rule.response_name})" if rule.response_name else ""
    yield f"Response: {words(rule.response)}{name}, owner {rule.owner}"
    named = (
        ("Do", known.command or rule.command),
        ("Runbook", rule.runbook),
        ("Impact", rule.impact),
        ("Only if", rule.precondition),
        ("Limit", rule.limit),
    )
    yield from (f"{what}: {text}" for what, text in named if text)


def _links(entry: Entry, dashboard_url: str) -> Iterator[str]:
    known = entry.context
    if entry.change is not Change.ENDED:
        named = (("Take it on", known.acknowledge_link), ("Silence", known.silence_link))
        yield from (f"{what}: {address}" for what, address in named if address)
    if known.evidence_link:
        yield f"Evidence: {known.evidence_link}"
    yield alert_link(dashboard_url, entry.alert.fingerprint)
