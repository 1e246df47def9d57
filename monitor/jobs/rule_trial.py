"""Tries rules on stored measurements of one model: what they would have done, without doing it.

Every window counts as judged when it could have been, its end and the contract's lateness later;
revisions that late labels made count from the moment they became known. What was only measured
afterwards, such as history that was imported, counts as if it had been measured in time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from sqlalchemy.engine import Connection

from alerts.conditions.composite import Composite
from alerts.config import AlertConfig
from alerts.rules import Rule
from alerts.trial import Batch, Trial, try_rules
from monitor.checks.registry import CheckName
from monitor.jobs.base import JobContext
from monitor.jobs.five_minutes import asking_for_five_minutes, five_minute_rates
from monitor.jobs.readings import Reader, readings_of
from monitor.jobs.rule_history import longest_burn
from monitor.measurement import Measurement
from monitor.store.measurement_history import Wanted, all_revisions, newest_revisions, served_in

NOT_ABOUT_A_LEG = (CheckName.INCIDENT, CheckName.GOLDEN, CheckName.SHADOW)
"""Their measurements are about deployments that were chosen, not about all that served."""


@dataclass(frozen=True)
class TrialOfModel:
    """What a rule would have done on one model.

    `measurements` were looked at; `afterwards` of them became known only after the span.
    """

    model: str
    measurements: int
    afterwards: int
    trial: Trial


def rules_to_try(config: AlertConfig, name: str) -> AlertConfig:
    """The configuration with this rule alone, and with its parts where it is made of others."""
    rule = config.rule(name)
    if rule is None:
        raise KeyError(name)
    parts = rule.condition.parts if isinstance(rule.condition, Composite) else ()
    kept = tuple(each for each in config.rules if each is rule or each.name in parts)
    return replace(config, rules=kept)


def try_on_model(
    connection: Connection,
    context: JobContext,
    config: AlertConfig,
    after: datetime,
    until: datetime,
) -> TrialOfModel:
    """Try all rules of `config` on the windows of a model that ended in `(after, until]`."""
    project, model, wanted = context.project_id, context.model_id, _wanted(config.rules)
    begin = after - longest_burn(config)
    read = Reader(connection, context, config, served_in(connection, project, model, begin, until))
    before = newest_revisions(connection, project, model, begin, after, wanted)
    stored = all_revisions(connection, project, model, after, until, wanted)
    known = _as_known(stored, context, until)
    past = [reading for one in before if (reading := read(one)) is not None]
    fine = _five_minutes(connection, context, config, begin, until)
    batches = list(_batches(known.moments, read))
    for each in fine:
        if each.readings[0].at > after:
            batches.append(each)
        else:
            past += each.readings
    return TrialOfModel(
        model=context.contract.model,
        measurements=sum(len(each.readings) for each in batches),
        afterwards=known.afterwards,
        trial=try_rules(config, sorted(batches, key=lambda each: each.at), until, past),
    )


@dataclass(frozen=True)
class _Stored:
    """Revisions with the moment each counts from, in that order."""

    moments: list[tuple[datetime, Measurement]]
    afterwards: int


def _as_known(revisions: Sequence[Measurement], context: JobContext, until: datetime) -> _Stored:
    """`revisions` come in the order in which they became known."""
    lateness = context.contract.lateness.profiles
    known: list[tuple[datetime, Measurement]] = []
    seen: set[tuple[object, ...]] = set()
    afterwards = 0
    for one in revisions:
        identity = (one.check, one.method, one.subject, one.window, one.baseline_id)
        in_time = one.window.end + lateness
        if identity not in seen:
            seen.add(identity)
            afterwards += one.known_at > until
            known.append((min(one.known_at, in_time), one))
        elif one.known_at <= until:
            known.append((max(one.known_at, in_time), one))
    return _Stored(sorted(known, key=lambda each: each[0]), afterwards)


def _batches(moments: Sequence[tuple[datetime, Measurement]], read: Reader) -> Iterator[Batch]:
    for at, group in groupby(moments, key=lambda each: each[0]):
        readings = tuple(reading for _, one in group if (reading := read(one)) is not None)
        if readings:
            yield Batch(at, readings)


def _five_minutes(
    connection: Connection,
    context: JobContext,
    config: AlertConfig,
    after: datetime,
    until: datetime,
) -> list[Batch]:
    """Windows of five minutes, a batch each, where a rule asks for them."""
    asking = asking_for_five_minutes(config)
    if not asking:
        return []
    only = replace(config, rules=tuple(each for each in config.rules if each.name in asking))
    rates = five_minute_rates(connection, context, after, until)
    found = sorted(readings_of(connection, context, only, rates), key=lambda each: each.at)
    lateness = context.contract.lateness.serving
    return [
        Batch(at + lateness, tuple(readings), asking)
        for at, readings in groupby(found, key=lambda each: each.at)
    ]


def _wanted(rules: Iterable[Rule]) -> Wanted:
    """What may match these rules, as far as whole names tell."""
    read = [each for each in rules if not isinstance(each.condition, Composite)]
    return Wanted(
        *(_names(read, label) for label in ("check", "method", "column")),
    )


def _names(rules: Sequence[Rule], label: str) -> Collection[str]:
    found: set[str] = set()
    for rule in rules:
        patterns = [each.patterns for each in rule.when if each.label == label]
        named = {pattern for each in patterns for pattern in each}
        if not named or any(name.endswith("*") or not name for name in named):
            return ()
        found |= named
    return found
