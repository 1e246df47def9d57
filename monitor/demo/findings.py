"""Puts together what was counted and measured into the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.engine import Engine

from monitor.contract import ColumnRole, Contract
from monitor.demo.deployments import DEPLOYMENTS
from monitor.demo.evidence import alert_totals, month_qualities, surprising_contrasts, worst_drift
from monitor.demo.fault import Fault, find_fault
from monitor.demo.incidents import incident_totals
from monitor.demo.orders import responses_told
from monitor.demo.plan import BodyKind
from monitor.demo.sender import Counts
from monitor.demo.summary import ComparisonTold, FaultFound, MonthQuality, Summary
from monitor.deployment import Tags, differing_groups
from monitor.reports.database import reading
from monitor.windows import Window


@dataclass(frozen=True)
class Subjects:
    """Whose findings: the model, its contract, the deployments' numbers in DEPLOYMENTS order."""

    project_id: int
    model_id: int
    contract: Contract
    deployment_ids: Sequence[int]
    replayed: Window


@dataclass(frozen=True)
class Work:
    """What the run itself counted: records by kind, verified deliveries, seconds by stage, and the
    comparisons it made."""

    counts: Mapping[BodyKind, Counts]
    verified: int
    stages: Mapping[str, float]
    comparisons: tuple[ComparisonTold, ...] = ()


def summarise(engine: Engine, subjects: Subjects, work: Work) -> Summary:
    """Read the evidence in one snapshot and name what it shows."""
    project, model, contract = subjects.project_id, subjects.model_id, subjects.contract
    features = {column.name for column in contract.with_role(ColumnRole.FEATURE)}
    with reading(engine, project) as connection:
        tests, made = surprising_contrasts(connection, project, model, subjects.replayed, features)
        months = month_qualities(connection, project, model, subjects.replayed, contract.time_zone)
        drift = worst_drift(
            connection, project, model, subjects.replayed, contract.time_zone, features
        )
        alerts = alert_totals(connection, project, work.verified)
        incidents = incident_totals(connection, project, model, contract)
        responses = responses_told(connection, project, model, subjects.replayed)
    lateness: timedelta = contract.lateness.profiles
    fault = find_fault(tests, features, lateness, made)
    return Summary(
        requests=work.counts[BodyKind.REQUESTS],
        labels=work.counts[BodyKind.LABELS],
        label_coverage=_coverage(months),
        months=months,
        drift=drift,
        contrasts=made,
        fault=_described(fault, subjects.deployment_ids) if fault is not None else None,
        alerts=alerts,
        seconds=sum(work.stages.values()),
        stages=work.stages,
        incidents=incidents,
        comparisons=work.comparisons,
        responses=responses,
    )


def _coverage(months: Sequence[MonthQuality]) -> float | None:
    known = [(each.label_coverage, each.requests) for each in months if each.requests]
    total = sum(requests for _, requests in known)
    if not total:
        return None
    return sum((coverage or 0.0) * requests for coverage, requests in known) / total


def _described(fault: Fault, deployment_ids: Sequence[int]) -> FaultFound:
    place = list(deployment_ids).index(fault.deployment_id)
    own = Tags.of(DEPLOYMENTS[place].tags())
    differs = {
        other.name: tuple(
            tag for tags in differing_groups(own, Tags.of(other.tags())).values() for tag in tags
        )
        for other in DEPLOYMENTS
        if other is not DEPLOYMENTS[place]
    }
    return FaultFound(
        started=fault.started,
        noticed=fault.noticed,
        column=fault.column,
        deployment=DEPLOYMENTS[place].name,
        deployment_id=fault.deployment_id,
        excess=fault.excess,
        p_log10=fault.p_log10,
        windows=fault.windows,
        differs_from=differs,
    )
