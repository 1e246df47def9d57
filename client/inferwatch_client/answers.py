"""What the collector's answer means for a body. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any

LONGEST_WAIT = 300.0
_BUSY = frozenset({408, 425, 429, 502, 503, 504})
_NOT_YET = frozenset({401, 403, 404})


class Verdict(Enum):
    """What to do with a body."""

    STORED = "stored"
    LATER = "later"
    """The collector can't take anything now."""
    AFTER_CHANGE = "after_change"
    """The key or the model has to change; other models may do well."""
    FAILED = "failed"
    """The collector failed on this body."""
    SPLIT = "split"
    REFUSED = "refused"


@dataclass(frozen=True)
class Judged:
    """The verdict, why, how long to wait (seconds, None when not said), and the counts."""

    verdict: Verdict
    reason: str = ""
    wait: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    deployment: int | None = None


def judge(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> Judged:
    """Read an answer; `now` is needed for a Retry-After that is a date."""
    wait = retry_after(headers.get("retry-after"), now)
    content = _object(body)
    reason = f"{status} {content.get('reason', '')}".strip()
    if status == 200:
        return _stored(content)
    if status in _BUSY:
        return Judged(Verdict.LATER, reason, wait)
    if status in _NOT_YET or 300 <= status < 400:
        return Judged(Verdict.AFTER_CHANGE, reason, wait)
    if status == 413:
        return Judged(Verdict.SPLIT, reason)
    if status >= 500:
        return Judged(Verdict.FAILED, reason, wait)
    return Judged(Verdict.REFUSED, reason)


def retry_after(text: str | None, now: datetime) -> float | None:
    """Seconds to wait as the header says, as a number or a date, at most LONGEST_WAIT."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return min(max((moment - now).total_seconds(), 0.0), LONGEST_WAIT)


def _stored(content: Mapping[str, Any]) -> Judged:
    """A 200 without counts is not our collector's: nothing is known to be stored."""
    if isinstance(content.get("deployment"), int):
        return Judged(Verdict.STORED, deployment=content["deployment"])
    names = ("accepted", "duplicate", "conflict", "rejected")
    counts = {name: content.get(name) for name in names}
    if not all(type(value) is int and value >= 0 for value in counts.values()):
        return Judged(Verdict.AFTER_CHANGE, "200 without the counts of an Inferwatch collector")
    rejected: dict[str, int] = {}
    for rejection in content.get("rejections", ()):
        if isinstance(rejection, dict):
            reason = str(rejection.get("reason", "unknown"))[:80]
            rejected[reason] = rejected.get(reason, 0) + 1
    rest = int(content["rejected"]) - sum(rejected.values())
    if rest > 0:
        rejected["not_listed"] = rest
    stored = {name: int(content[name]) for name in names if name != "rejected"}
    return Judged(Verdict.STORED, counts=stored, rejected=rejected)


def _object(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
