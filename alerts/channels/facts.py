"""The facts of one alert of a message body, each with a name, in the order in which people need
them. Whatever the body lacks is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from alerts.text import clean, words

FACT_LIMIT = 400
COMMAND = "Do"
_MOST_CHANGES = 3

Fact = tuple[str, str]


def heading_of(body: Mapping[str, object]) -> str:
    """What is new about the alert, and its sentence."""
    change, reason = words(text_at(body, "change")), words(text_at(body, "reason"))
    if change == "ended":
        change = f"resolved ({reason or 'recovered'})"
    elif change == "opened" and text_at(body, "standing") == "regressed":
        change = "opened again"
    return clean(f"{change}: {text_at(body, 'summary')}", FACT_LIMIT)


def facts_of(body: Mapping[str, object]) -> tuple[Fact, ...]:
    """The facts, cleaned and capped."""
    found = [("Value", _value(body)), ("Window", _window(body)), ("Since", _since(body))]
    if not is_over(body):
        found += _response(body)
    found += [
        ("Concerns", _traffic(body)),
        ("Changed before it began", _changed(body)),
        ("Known then", text_at(body, "quality")),
        ("Automatic action", text_at(body, "automatic")),
        ("Meaning", text_at(body, "about", "meaning")),
    ]
    return tuple((name, clean(text, FACT_LIMIT)) for name, text in found if text)


def is_over(body: Mapping[str, object]) -> bool:
    """Whether the alert has ended."""
    return body.get("state") == "resolved"


def text_at(body: Mapping[str, object], *path: str) -> str:
    """The text at a path of keys, empty when there is none."""
    found: object = body
    for name in path:
        found = mapping(found).get(name)
    return found if isinstance(found, str) else ""


def mapping(found: object) -> Mapping[str, object]:
    """The mapping, or an empty one when it is something else."""
    return found if isinstance(found, Mapping) else {}


def _traffic(body: Mapping[str, object]) -> str:
    """The share of the requests that the deployments of the alert served."""
    traffic = mapping(body.get("traffic"))
    share, total = traffic.get("share"), traffic.get("of")
    if not isinstance(share, int | float) or not isinstance(total, int):
        return ""
    return f"{share:.0%} of the {total:,} requests then"


def _value(body: Mapping[str, object]) -> str:
    measurement = mapping(body.get("measurement"))
    value, threshold = measurement.get("value"), text_at(body, "threshold", "text")
    if isinstance(value, int | float):
        told = f"{value:.4g} {text_at(measurement, 'unit')}".strip()
    else:
        told = f"{words(text_at(measurement, 'state'))} {text_at(measurement, 'text')}".strip()
    told += f", alert when {threshold}" if told and threshold else ""
    baseline = text_at(body, "baseline")
    return f"{told}; compared with {baseline}" if told and baseline else told


def _window(body: Mapping[str, object]) -> str:
    measurement = mapping(body.get("measurement"))
    start, end = text_at(measurement, "window", "start"), text_at(measurement, "window", "end")
    count, low, high = measurement.get("n"), measurement.get("low"), measurement.get("high")
    parts = [f"{start} to {end}" if start and end else ""]
    parts.append(f"n {count:,}" if isinstance(count, int) else "")
    if isinstance(low, int | float) and isinstance(high, int | float):
        parts.append(f"interval {low:.4g} to {high:.4g}")
    until = text_at(body, "data_until")
    parts.append(f"data until {until}" if until else "")
    return ", ".join(part for part in parts if part)


def _since(body: Mapping[str, object]) -> str:
    fired, state = body.get("fired_30_days"), text_at(body, "data_state")
    resolved, by = text_at(body, "resolved_at"), text_at(body, "acknowledged_by")
    parts = [text_at(body, "since"), f"over since {resolved}" if resolved else ""]
    if isinstance(fired, int):
        parts.append(f"fired {'once' if fired == 1 else f'{fired} times'} in 30 days")
    parts.append(f"its data now: {words(state)}" if state not in ("", "ok") else "")
    parts.append(f"taken on by {by}" if by else "")
    return ", ".join(part for part in parts if part)


def _response(body: Mapping[str, object]) -> Iterator[Fact]:
    response = mapping(body.get("response"))
    action, name = words(text_at(response, "action")), text_at(response, "name")
    owner = text_at(body, "owner")
    told = f"{action} ({name})" if name else action
    yield "Response", f"{told}, owner {owner}" if told and owner else told
    yield COMMAND, text_at(response, "command")
    yield "Runbook", text_at(response, "runbook")
    yield "Impact", text_at(response, "impact")
    yield "Only if", text_at(response, "precondition")
    yield "Limit", text_at(response, "limit")


def _changed(body: Mapping[str, object]) -> str:
    found = body.get("changed")
    told = []
    for each in (found if isinstance(found, list) else [])[:_MOST_CHANGES]:
        tag, before, after = (text_at(mapping(each), name) for name in ("tag", "before", "after"))
        deployment, at = text_at(mapping(each), "deployment"), text_at(mapping(each), "at")
        change = f"{tag} {before or 'unknown'} → {after or 'unknown'}"
        told.append(f"{change}, deployment {deployment}, {at}")
    return "; ".join(told)
