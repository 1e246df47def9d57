"""Silences: who keeps which alerts quiet, why and until when. Kept for good."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.durations import duration_text
from alerts.model import LABEL_NAME, Alert, require_utc
from alerts.rules import Matcher
from alerts.silences import LONGEST, Silence
from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.store.alert_book import lock_alerts, plan_now, rules_in_force
from monitor.store.engine import Role, transaction
from monitor.store.tables import silence

MAX_NAME, MAX_REASON, MAX_MATCHERS, MAX_PATTERN = 200, 2_000, 20, 500


@dataclass(frozen=True)
class WantedSilence:
    """What a person asks for: alerts that fit all matchers are quiet in `[starts_at, ends_at)`."""

    matchers: tuple[Matcher, ...]
    starts_at: datetime
    ends_at: datetime
    author: str
    reason: str


def add_silence(
    engine: Engine,
    project_id: int,
    wanted: WantedSilence,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> Silence:
    """Store a silence; it holds from its start on.

    Raises ConfigurationError with every mistake: no author or reason, nothing it is about, an end
    before its start or in the past, or longer than the rules in force allow.
    """
    starts, ends = (
        require_utc("starts_at", wanted.starts_at),
        require_utc("ends_at", wanted.ends_at),
    )
    with transaction(engine, project_id, role) as connection:
        rules = rules_in_force(connection, project_id)
        longest = rules.config.delivery.longest_silence if rules is not None else LONGEST
        problems = [*_mistakes(wanted)]
        if ends <= starts:
            problems.append(Problem("until", "a silence must end after it begins"))
        elif ends <= now:
            problems.append(Problem("until", "must lie in the future"))
        elif ends - starts > longest:
            told = f"a silence lasts at most {duration_text(longest)}; make it shorter"
            problems.append(Problem("until", told))
        if problems:
            raise ConfigurationError("silence", problems)
        lock_alerts(connection, project_id)
        number = connection.scalar(
            sa.insert(silence)
            .values(
                project_id=project_id,
                matchers=matchers_to_json(wanted.matchers),
                author=wanted.author.strip(),
                reason=wanted.reason.strip(),
                starts_at=starts,
                ends_at=ends,
            )
            .returning(silence.c.id)
        )
        plan_now(connection, project_id)
        return Silence(
            int(number or 0), wanted.matchers, wanted.author.strip(), wanted.reason.strip(),
            starts, ends,
        )  # fmt: skip


def end_silence(
    engine: Engine,
    project_id: int,
    number: int,
    by: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> Silence:
    """End a silence now; what it kept quiet and still fires is told at once.

    Raises UnknownSubject when there is no such silence, ConfigurationError when it is over.
    """
    if not by.strip() or len(by.strip()) > MAX_NAME or not by.strip().isprintable():
        raise ConfigurationError("silence", [_name_mistake("by")])
    row = silence.c
    with transaction(engine, project_id, role) as connection:
        lock_alerts(connection, project_id)
        found = connection.execute(
            sa.select(silence).where(row.project_id == project_id, row.id == number)
        ).one_or_none()
        if found is None:
            raise UnknownSubject(f"no silence {number}; `inferwatch alerts silence list --all`")
        if found.ends_at <= now:
            problem = Problem(f"silence {number}", f"is over since {found.ends_at.isoformat()}")
            raise ConfigurationError("silence", [problem])
        ends_at = max(now, found.starts_at)
        connection.execute(
            sa.update(silence)
            .where(row.project_id == project_id, row.id == number)
            .values(ends_at=ends_at, ended_by=by.strip(), ended_at=now)
        )
        plan_now(connection, project_id)
        ended = silence_from_row(found)
        return Silence(
            ended.id, ended.matchers, ended.author, ended.reason, ended.starts_at, ends_at
        )


def silences_at(connection: Connection, project_id: int, now: datetime) -> tuple[Silence, ...]:
    """Silences that hold at this moment."""
    row = silence.c
    query = (
        sa.select(silence)
        .where(row.project_id == project_id, row.starts_at <= now, row.ends_at > now)
        .order_by(row.id)
    )
    return tuple(silence_from_row(each) for each in connection.execute(query))


def silence_from_row(row: Any) -> Silence:
    """The silence that a row holds."""
    return Silence(
        row.id, matchers_from_json(row.matchers), row.author, row.reason, row.starts_at, row.ends_at
    )


def matchers_to_json(matchers: Iterable[Matcher]) -> list[dict[str, Any]]:
    """Matchers as they are stored."""
    return [{"label": each.label, "patterns": list(each.patterns)} for each in matchers]


def matchers_from_json(kept: Sequence[Mapping[str, Any]]) -> tuple[Matcher, ...]:
    """And back."""
    return tuple(Matcher(each["label"], tuple(each["patterns"])) for each in kept)


def matchers_of_alert(alert: Alert) -> tuple[Matcher, ...]:
    """Matchers that fit this alert alone: its rule and all of its labels."""
    return (Matcher("rule", (alert.rule,)), *(Matcher(k, (v,)) for k, v in alert.labels.items()))


def _mistakes(wanted: WantedSilence) -> Iterable[Problem]:
    author, reason = wanted.author.strip(), wanted.reason.strip()
    if not 1 <= len(author) <= MAX_NAME or not author.isprintable():
        yield _name_mistake("by")
    if not 1 <= len(reason) <= MAX_REASON or "\0" in reason:
        message = f"write why in 1 to {MAX_REASON} characters, none of them U+0000"
        yield Problem("reason", message)
    if not 1 <= len(wanted.matchers) <= MAX_MATCHERS:
        yield Problem("labels", f"name 1 to {MAX_MATCHERS} labels, such as model=flight-delay")
    elif all(pattern == "*" for each in wanted.matchers for pattern in each.patterns):
        yield Problem("labels", "would keep everything quiet; name a value")
    for each in wanted.matchers:
        if not LABEL_NAME.fullmatch(each.label):
            yield Problem("labels", f"label {each.label[:60]!r} must be a lower-case word")
        for pattern in each.patterns:
            if "*" in pattern[:-1] or len(pattern) > MAX_PATTERN or "\0" in pattern:
                message = f"{pattern[:60]!r}: at most {MAX_PATTERN} characters, `*` only at the end"
                yield Problem(f"label {each.label}", message)


def _name_mistake(place: str) -> Problem:
    return Problem(place, f"write who you are in 1 to {MAX_NAME} printable characters")
