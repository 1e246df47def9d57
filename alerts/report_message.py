"""The message that a scheduled report is ready: what it is about, its hash, where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from alerts.groups import EventType
from alerts.messages import Message
from alerts.model import Severity
from alerts.service_messages import common_keys, own_message
from alerts.text import moment_text

MOST_LINES = 12


@dataclass(frozen=True)
class ReadyReport:
    """A report that was built. `attention`: its sentences about what is bad or not known."""

    number: int
    project: str
    model: str
    start: datetime
    end: datetime
    as_known_at: datetime
    form: str
    sha256: str
    attention: Sequence[str]


def report_message(receiver: str, report: ReadyReport, url: str, now: datetime) -> Message:
    """A notice that asks nothing of anybody; the report itself is fetched by its link."""
    period = f"{moment_text(report.start)} to {moment_text(report.end)}"
    title = f"Report of {report.model}, {period}"
    lines = [
        title,
        f"As known at {moment_text(report.as_known_at)}; {report.form}, SHA-256 {report.sha256}.",
        f"Kept as number {report.number}: {url}",
        *report.attention[:MOST_LINES],
    ]
    if len(report.attention) > MOST_LINES:
        lines.append(f"{len(report.attention) - MOST_LINES} more stand in the report.")
    data = common_keys(title, receiver, Severity.NOTICE, report.project, url)
    data |= {
        "model": report.model,
        "counts": {"in_group": 0, "new": 0, "shown": 0, "not_shown": 0},
        "report": {
            "number": report.number, "from": moment_text(report.start),
            "to": moment_text(report.end), "as_known_at": moment_text(report.as_known_at),
            "format": report.form, "sha256": report.sha256,
        },
    }  # fmt: skip
    about = f"report {report.number}"
    return own_message(
        EventType.REPORT_READY, receiver, Severity.NOTICE, title, lines, data, about, now
    )
