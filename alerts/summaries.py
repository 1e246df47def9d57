"""What is said of one alert in one sentence, and where it links to."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from alerts.conditions.composite import Composite
from alerts.groups import Entry
from alerts.model import Reading
from alerts.rules import Rule, Subject
from alerts.templates import Field, fill
from alerts.text import clean, moment_text

SUMMARY_LIMIT = 500
WORDING = {
    Subject.DISTRIBUTION: "The distribution changed: a reason to look, no verdict on quality.",
    Subject.QUALITY: "Measured against labels: evidence about quality itself.",
    Subject.SERVICE: "About how the model is served, not about what it predicts.",
    Subject.DATA: "About the data that arrives, not about what the model makes of it.",
}
_SUBJECT_LABELS = ("check", "method", "column", "segment", "deployment")


def alert_link(dashboard_url: str, fingerprint: str) -> str:
    """The page of one alert."""
    return f"{dashboard_url}/alert?fingerprint={quote(fingerprint)}"


def reading_of(entry: Entry) -> Reading | None:
    """The window that the entry is about: the newest that was judged."""
    return entry.alert.last_judged


def summary_of(rule: Rule, labels: Mapping[str, str], reading: Reading | None) -> str:
    """The rule's own sentence, or a plain one made of the subject and the number."""
    fields = _fields(rule, labels, reading)
    template = rule.summary or _plain_template(rule, labels, reading)
    return clean(fill(template, fields), SUMMARY_LIMIT)


def _plain_template(rule: Rule, labels: Mapping[str, str], reading: Reading | None) -> str:
    if isinstance(rule.condition, Composite):
        return "{rule}: {text}"
    named = [_named(name, labels) for name in _SUBJECT_LABELS if name in labels]
    subject = " ".join(named) or "{rule}"
    if reading is None or reading.value is None:
        return f"{subject}: {{state}} {{text}}, alert when {{threshold}}"
    unit = " {unit}" if reading.unit else ""
    return f"{subject}: {{value}}{unit}, alert when {{threshold}}"


def _named(name: str, labels: Mapping[str, str]) -> str:
    """A label by its value; a deployment says what it is and bears the name that people gave it."""
    if name != "deployment":
        return f"{{{name}}}"
    known = "deployment_name" if "deployment_name" in labels else "deployment"
    return f"deployment {{{known}}}"


def _fields(rule: Rule, labels: Mapping[str, str], reading: Reading | None) -> dict[str, Field]:
    fields: dict[str, Field] = {
        **labels,
        "rule": rule.name,
        "severity": rule.severity,
        "threshold": rule.condition.describe(),
    }
    if reading is not None:
        fields |= {
            "state": reading.state,
            "value": reading.value,
            "low": reading.low,
            "high": reading.high,
            "n": reading.n,
            "unit": reading.unit,
            "text": reading.text,
            "window_start": moment_text(reading.window_start),
            "window_end": moment_text(reading.at),
        }
    return fields
