"""Conditions about what arrives: requests, labels, records refused, columns of the wrong shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from monitor.checks.intervals import wilson_limits
from monitor.checks.violations import ANY, method_of, shares_of
from monitor.jobs.conditions.base import Finding, Look
from monitor.measurement import Measured
from monitor.profiles.columns import violation_counts
from monitor.profiles.part import PartKind, merge
from monitor.records import LIVE_LEG, ViolationReason
from monitor.store.baselines import current_binning
from monitor.store.conditions import (
    first_served,
    newest_profiled,
    newest_request,
    overflow_requests,
    refused_records,
)
from monitor.store.label_feed import newest_label
from monitor.store.models import ModelContext
from monitor.store.profile_rows import StoredProfile, read_profiles
from monitor.windows import Grain, Window

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
UNKNOWN_COLUMNS = ""
BROKEN_SCHEMA = frozenset(
    {
        ViolationReason.WRONG_TYPE,
        ViolationReason.MISSING,
        ViolationReason.WRONG_LENGTH,
        ViolationReason.TIME_WITHOUT_ZONE,
        ViolationReason.UNKNOWN_COLUMN,
    }
)
"""Reasons that a sender which changed its columns gives rise to; a value out of range is none."""


def request_age(look: Look) -> Iterator[Finding]:
    """Hours since the newest request of each model's live leg, by the time of the requests."""
    for each in look.models:
        labels = {"model": each.contract.model, "leg": LIVE_LEG}
        newest = newest_request(look.connection, each.project_id, each.model_id)
        if newest is None:
            yield Finding(labels, None, text="no request has come yet")
        else:
            yield Finding(labels, _age(newest, look.now), evidence={"newest": newest.isoformat()})


def label_age(look: Look) -> Iterator[Finding]:
    """Hours since the newest label was observed; without any, since the first day of requests."""
    for each in look.models:
        label = each.contract.label
        if label is None:
            continue
        labels = {"model": each.contract.model, "leg": LIVE_LEG, "label": label.name}
        place = (look.connection, each.project_id, each.model_id)
        newest = newest_label(*place, label.name, look.now)
        since = newest or first_served(*place)
        if since is None:
            yield Finding(labels, None, text="neither a request nor a label has come yet")
            continue
        text = "" if newest else f"no label has come since the first requests on {since:%Y-%m-%d}"
        evidence = {"newest": newest.isoformat()} if newest else {}
        yield Finding(labels, _age(since, look.now), text=text, evidence=evidence)


def rejected_share(look: Look) -> Iterator[Finding]:
    """Share of the records of the last hour, by arrival, that could not be stored."""
    for each in look.models:
        n, refused = refused_records(look.connection, each.project_id, each.model_id, HOUR)
        labels = {"model": each.contract.model}
        if not n:
            yield Finding(labels, None, text="no record came in the last hour")
            continue
        low, high = wilson_limits(refused, n)
        yield Finding(labels, refused / n, n, low, high, evidence={"rejected": float(refused)})


def overflow(look: Look) -> Iterator[Finding]:
    """Requests of the last 24 hours that carried more sets of version tags than are kept."""
    for each in look.models:
        window = Window(look.now - DAY, look.now)
        count = overflow_requests(look.connection, each.project_id, each.model_id, window)
        yield Finding({"model": each.contract.model}, float(count), count)


def schema_break(look: Look) -> Iterator[Finding]:
    """Share of the rows of the newest profiled hour in which a column has the wrong shape.

    That is: absent, of another type or length, a time without a zone. The column without a name
    stands for columns that the contract does not know, counted a row. Models without a binning are
    left out: nothing is counted before their first rows were read.
    """
    for each in look.models:
        hour, stored = _newest_hour(look, each)
        if hour is None:
            continue
        n, part = sum(one.n for one in stored), merge([one.part for one in stored])
        for column in (*(one.name for one in each.contract.columns), UNKNOWN_COLUMNS):
            yield _broken(each, column, hour, n, violation_counts(part, column))


def _broken(
    model: ModelContext, column: str, hour: Window, n: int, counts: Mapping[ViolationReason, int]
) -> Finding:
    broken = {reason: count for reason, count in counts.items() if reason in BROKEN_SCHEMA}
    share = shares_of(broken, n)[ANY]
    if not isinstance(share, Measured):
        raise AssertionError("an hour that is profiled has rows")
    return Finding(
        labels={"model": model.contract.model, "leg": LIVE_LEG, "column": column},
        value=share.value,
        n=n,
        low=share.low,
        high=share.high,
        evidence={method_of(reason): float(count) for reason, count in broken.items()},
        window=hour,
    )


def _newest_hour(look: Look, model: ModelContext) -> tuple[Window | None, list[StoredProfile]]:
    """The newest hour that is profiled, and the columns of all deployments of it."""
    place = (look.connection, model.project_id, model.model_id)
    binning = current_binning(*place)
    start = newest_profiled(*place, PartKind.COLUMNS, binning.id) if binning is not None else None
    if binning is None or start is None:
        return None, []
    hour = Window(start, start + HOUR)
    stored = read_profiles(*place, PartKind.COLUMNS, Grain.HOUR, hour, binning_ids=(binning.id,))
    return hour, [one for one in stored if one.key.leg == LIVE_LEG]


def _age(since: datetime, now: datetime) -> float:
    return max((now - since) / HOUR, 0.0)
