"""What the demo found, as numbers: the content of summary.json. Pure.

Everything here is measured or counted; nothing is taken from the planted fault.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from monitor.demo.sender import Counts


@dataclass(frozen=True)
class MonthQuality:
    """One month (New York) of requests by cohort; None where too few labels were there.

    `requests` counts requests, `label_coverage` the share of them with a label. The other values
    are those of the labelled requests; `auc_low` and `auc_high` bound the 95 % interval.
    """

    month: str
    requests: int
    label_coverage: float | None
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    brier: float | None
    calibration_error: float | None


@dataclass(frozen=True)
class ColumnDrift:
    """The worst window of one column: statistic, value and unit, against which baseline."""

    column: str
    statistic: str
    value: float
    unit: str
    window: str
    baseline: str


@dataclass(frozen=True)
class FaultFound:
    """A fault that the contrasts name, with the deployment's name, number and tags."""

    started: datetime
    noticed: datetime
    column: str
    deployment: str
    deployment_id: int
    excess: float
    p_log10: float
    windows: int
    differs_from: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class AlertTotals:
    """Alert episodes opened, by rule; messages sent, and those the receiver verified."""

    opened: int
    by_rule: Mapping[str, int]
    delivered: int
    undelivered: int
    verified: int


@dataclass(frozen=True)
class IncidentTold:
    """One drift incident: when it opened, its columns (the leading one first), the deployments that
    it names, and the first sentence of what was seen."""

    opened: datetime
    columns: tuple[str, ...]
    deployments: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class IncidentTotals:
    """Drift incidents of the replay, and what the promise says at its end.

    `promised` false incidents a month are allowed; `withheld` gives the columns that the promise
    does not hold for, each with its reason; `days` were judged by learned weeks.
    """

    incidents: tuple[IncidentTold, ...]
    days: float
    promised: float
    state: str
    withheld: Mapping[str, str]

    @property
    def a_month(self) -> float | None:
        """Incidents in 30 days, None when nothing was judged."""
        return len(self.incidents) * 30 / self.days if self.days else None

    def as_json(self) -> dict[str, Any]:
        """Its part of summary.json."""
        return {
            "count": len(self.incidents),
            "a_month": None if self.a_month is None else round(self.a_month, 2),
            "naming_a_deployment": sum(bool(one.deployments) for one in self.incidents),
            "promise": {
                "false_incidents_a_month": self.promised,
                "state": self.state,
                "judged_days": round(self.days, 1),
                "withheld": dict(self.withheld),
            },
            "list": [{**asdict(one), "opened": _moment(one.opened)} for one in self.incidents],
        }


@dataclass(frozen=True)
class ComparisonTold:
    """Deployment b against a: the factors that differ, the verdict (None: it could not be made,
    the sentence says why) and the verdict in a sentence."""

    a: str
    b: str
    factors: tuple[str, ...]
    verdict: str | None
    sentence: str


@dataclass(frozen=True)
class OrderTold:
    """One action as it was recorded: who asked for what, and what became of it.

    `returns` is the number of the action whose former state is asked for again; `said` what the
    router answered, or the limit that stood in the way.
    """

    number: int
    at: datetime
    response: str
    asked_by: str
    deployments: tuple[str, ...]
    to_percent: float | None
    dry_run: bool
    returns: int | None
    state: str
    said: str


@dataclass(frozen=True)
class ShareTold:
    """Requests from `start` to `end`, and those of them that the deployment concerned answered."""

    when: str
    start: datetime
    end: datetime
    requests: int
    answered: int

    @property
    def percent(self) -> float | None:
        """Its share of the requests, None without any."""
        return 100 * self.answered / self.requests if self.requests else None


@dataclass(frozen=True)
class ResponsesTold:
    """All actions, and the shares of the `deployments` whose traffic the first of them moved."""

    orders: tuple[OrderTold, ...] = ()
    deployments: tuple[str, ...] = ()
    shares: tuple[ShareTold, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Its part of summary.json."""
        return {
            "actions": [{**asdict(one), "at": _moment(one.at)} for one in self.orders],
            "deployments": list(self.deployments),
            "shares": [
                {
                    **asdict(one),
                    "start": _moment(one.start),
                    "end": _moment(one.end),
                    "percent": None if one.percent is None else round(one.percent, 2),
                }
                for one in self.shares
            ],
        }


@dataclass(frozen=True)
class Summary:
    """The whole result of one run. `contrasts` is how many could have named a fault."""

    requests: Counts
    labels: Counts
    label_coverage: float | None
    months: tuple[MonthQuality, ...]
    drift: tuple[ColumnDrift, ...]
    contrasts: int
    fault: FaultFound | None
    alerts: AlertTotals
    seconds: float
    stages: Mapping[str, float]
    incidents: IncidentTotals | None = None
    comparisons: tuple[ComparisonTold, ...] = ()
    responses: ResponsesTold = ResponsesTold()

    def as_json(self) -> dict[str, Any]:
        """The JSON value of summary.json; moments are ISO 8601 in UTC."""
        return {
            "requests": _counts(self.requests),
            "labels": _counts(self.labels),
            "label_coverage": self.label_coverage,
            "months": [asdict(month) for month in self.months],
            "drift": [asdict(column) for column in self.drift],
            "contrasts": self.contrasts,
            "planted_fault": _fault(self.fault),
            "incidents": None if self.incidents is None else self.incidents.as_json(),
            "comparisons": [asdict(one) for one in self.comparisons],
            "responses": self.responses.as_json(),
            "alerts": {**asdict(self.alerts), "by_rule": dict(self.alerts.by_rule)},
            "seconds": round(self.seconds, 1),
            "stages": {name: round(seconds, 1) for name, seconds in self.stages.items()},
        }

    def to_text(self) -> str:
        """summary.json as text."""
        return json.dumps(self.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _counts(counts: Counts) -> dict[str, int]:
    return asdict(counts)


def _fault(fault: FaultFound | None) -> dict[str, Any]:
    if fault is None:
        names = ("started", "noticed", "column", "deployment", "deployment_id")
        return dict.fromkeys((*names, "excess", "p_log10", "windows", "differs_from"))
    return {
        **asdict(fault),
        "started": _moment(fault.started),
        "noticed": _moment(fault.noticed),
        "differs_from": {name: list(tags) for name, tags in fault.differs_from.items()},
    }


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
