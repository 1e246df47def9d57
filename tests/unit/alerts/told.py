"""Messages as channels get them: rendered from real alerts, as large and hostile as asked for."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from alerts.context import AlertContext, Changed
from alerts.groups import Change, Entry, EventType, Group, GroupKey
from alerts.lifecycle import step
from alerts.messages import Message, render
from alerts.model import Labels, ResponseAction, Severity
from alerts.rules import Rule, Subject

from .factories import NOW, SUBJECT, config, hour, reading, rule
from .formats import FORMATS

KEY = GroupKey("on-call", "air", (("model", "delay"), ("response", "reduce_traffic")))
HOSTILE = (
    "<!channel> <@U1> <https://evil.example|click> *b* _i_ ~s~ `c` [t](https://evil.example) "
    "![i](https://evil.example/x.png) <script>alert(1)</script> &amp; @here\r\nBcc: x@evil.example"
)
KNOWN = AlertContext(
    baseline="training (file, n 10,000): 0.02",
    fired=3,
    changed=(Changed("runtime_version", None, "1.18", "canary", hour(1)),),
    quality="AUC 0.71 for requests of February",
    action="refused: at most one a day",
    command="inferwatch respond run 17",
    data_until=hour(2),
    acknowledge_link="https://api.example.org/alerts/17/acknowledge?token=abc",
    silence_link="https://api.example.org/alerts/17/silence?token=def",
    evidence_link="https://watch.example.org/model?model=delay",
    links_until=NOW + timedelta(days=2),
)


def page(text: str = "") -> Rule:
    """A rule with everything that a message can tell; `text` goes wherever texts come from."""
    return rule(
        name="contrast",
        severity=Severity.PAGE,
        response=ResponseAction.REDUCE_TRAFFIC,
        runbook="https://example.org/runbook",
        impact=f"Wrong inputs. {text}".strip(),
        precondition="Another deployment serves.",
        limit="Not below a tenth.",
        about=Subject.DISTRIBUTION,
        summary="Column {column}: {value:.3f} {unit}, n {n:,}",
        response_name="move-away",
    )


def message(
    event: EventType = EventType.OPENED,
    *,
    new: int = 1,
    still_open: int = 0,
    text: str = "",
    drill: bool = False,
    note: str = "",
) -> Message:
    """`new` alerts that opened, got worse or ended, and `still_open` others of the group."""
    used, columns = page(text), [f"c{number:02}{text}" for number in range(new + still_open)]
    readings = [
        reading(1, 0.3 + number / 100, unit=text, labels=Labels.of(**{**SUBJECT, "column": column}))
        for number, column in enumerate(columns)
    ]
    alerts = step(config(used), {}, readings, NOW).alerts.values()
    by_column = sorted(alerts, key=lambda each: each.labels["column"])
    changes = {EventType.RESOLVED: Change.ENDED, EventType.UPDATED: Change.GOT_WORSE}
    change = changes.get(event, Change.OPENED)
    entries = tuple(
        Entry(alert, used, change if place < new else Change.NONE, KNOWN)
        for place, alert in enumerate(by_column)
    )
    return render(Group(KEY, event, entries, note, drill), "https://watch.example.org", NOW)


def schema_mistakes(name: str, body: Any) -> list[str]:
    """What the recorded schema of a format says against a body."""
    schema = json.loads((FORMATS / f"{name}.json").read_text(encoding="utf-8"))
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(body)]


def texts_in(found: Any) -> list[str]:
    """All texts in a body, keys left out."""
    if isinstance(found, str):
        return [found]
    inner = found.values() if isinstance(found, dict) else found if isinstance(found, list) else []
    return [text for each in inner for text in texts_in(each)]
