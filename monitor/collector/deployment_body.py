"""A deployment as somebody registers it: by HTTP, by file or by `collect-env`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.collector.ports import Registrations
from monitor.deployment import Tags
from monitor.errors import RequestRefused
from monitor.intake.times import TimeFault, read_moment
from monitor.registration import MAX_NAME_LENGTH, join_problems
from monitor.store.registrations import NewRegistration
from monitor.strictjson import StrictJsonError, loads, storable

MAX_EVIDENCE_BYTES = 64 << 10
KEYS = frozenset({"name", "tags", "joins", "valid_from", "valid_to", "evidence"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ToldDeployment:
    """Tags and perhaps a name; `registration` None: a number for the tags is all that is asked."""

    tags: Tags
    name: str | None = None
    registration: NewRegistration | None = None
    from_now_on: bool = False

    def store_in(
        self, registrations: Registrations, project_id: int, model_id: int, now: datetime
    ) -> tuple[int, bool, int | None]:
        """Deployment, whether something is new, number of the registration."""
        return registrations.register(
            project_id, model_id, self.tags, self.name, self.registration, now,
            from_now_on=self.from_now_on,
        )  # fmt: skip


def read_deployment(body: bytes, now: datetime) -> ToldDeployment:
    """The deployment of a JSON body; raises RequestRefused 400 or 422."""
    try:
        return deployment_of(loads(body), now)
    except StrictJsonError as error:
        raise RequestRefused(400, "unreadable", str(error)) from None


def deployment_of(value: Any, now: datetime) -> ToldDeployment:
    """The deployment of a decoded body or file; RequestRefused 422 names all that is wrong."""
    if not isinstance(value, Mapping) or set(value) - KEYS or "tags" not in value:
        message = f'send {{"tags": {{...}}}} and perhaps {", ".join(sorted(KEYS - {"tags"}))}'
        raise RequestRefused(422, "bad_deployment", message)
    name = value.get("name")
    if name is not None and not (
        isinstance(name, str) and 0 < len(name) <= MAX_NAME_LENGTH and name.isprintable()
    ):
        message = f"name is 1 to {MAX_NAME_LENGTH} printable characters"
        raise RequestRefused(422, "bad_name", message)
    tags = _tags(value["tags"])
    asked = [key for key in ("joins", "valid_from", "valid_to", "evidence") if value.get(key)]
    if not asked:
        return ToldDeployment(tags, name)
    return ToldDeployment(tags, name, _registration(value, now), not value.get("valid_from"))


def _tags(told: Any) -> Tags:
    if not isinstance(told, Mapping):
        raise RequestRefused(422, "bad_tags", "tags is an object of tag names and texts")
    try:
        return Tags.of(told)
    except ValueError as error:
        raise RequestRefused(422, "bad_tags", str(error)[:1_000]) from None


def _registration(value: Mapping[str, Any], now: datetime) -> NewRegistration:
    problems: list[str] = []
    joins = value.get("joins") or {}
    if isinstance(joins, Mapping):
        problems += join_problems(joins)
    else:
        problems.append('joins is an object of marks and texts, such as {"host": "gpu-3"}')
    start = _moment(value, "valid_from", problems) or now
    end = _moment(value, "valid_to", problems)
    if end is not None and end <= start:
        problems.append("valid_to lies after valid_from")
    if start > now + timedelta(days=366):
        problems.append("valid_from lies more than a year ahead; check its year")
    evidence = value.get("evidence")
    if evidence is not None:
        problems += _evidence_problems(evidence)
    if problems:
        raise RequestRefused(422, "bad_registration", "; ".join(problems)[:2_000])
    return NewRegistration(dict(joins), start, end, evidence)


def _moment(value: Mapping[str, Any], name: str, problems: list[str]) -> datetime | None:
    told = value.get(name)
    if told is None:
        return None
    if isinstance(told, datetime) and told.tzinfo is not None:
        return told.astimezone(UTC)
    micros = read_moment(told) if isinstance(told, str) else TimeFault.BAD
    if isinstance(micros, TimeFault):
        problems.append(f"{name} is a time of RFC 3339 with a zone, as 2026-03-01T09:30:00Z")
        return None
    return _EPOCH + timedelta(microseconds=micros)


def _evidence_problems(evidence: Any) -> list[str]:
    if not isinstance(evidence, Mapping):
        return ["evidence is an object, such as the output of `inferwatch collect-env --json`"]
    try:
        written = json.dumps(evidence, allow_nan=False, ensure_ascii=False)
    except (ValueError, TypeError):
        return ["evidence holds something that JSON can't: NaN, an infinity or an odd type"]
    if not storable(written) or "\\u0000" in written:
        return ["evidence holds text that can't be stored: U+0000 or half a character"]
    if len(written.encode()) > MAX_EVIDENCE_BYTES:
        return [f"evidence has more than {MAX_EVIDENCE_BYTES} bytes; keep what matters"]
    return []
