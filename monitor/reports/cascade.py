"""The routes of a cascade beside each other, from profiles of the requests and of their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection, Engine

from monitor.checks.cascade import escalated_share, route_shares, threshold_kept
from monitor.checks.costs.bill import bill
from monitor.checks.costs.used import usage_of
from monitor.checks.quality.binary import binary_quality
from monitor.checks.quality.multiclass import multiclass_quality
from monitor.contract import Contract, Task
from monitor.contract_costs import Cascade
from monitor.measurement import Failed, Measured, Outcome, TooFew
from monitor.profiles.cascade import RouterCounts, router_counts
from monitor.profiles.labels import binary_counts
from monitor.profiles.labels_multiclass import confusion_counts
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.predictions import classes_of
from monitor.profiles.serving import outcome_counts, quantile
from monitor.profiles.serving_splits import split_name
from monitor.profiles.serving_words import word_counts
from monitor.profiles.standard_columns import column_holding
from monitor.reports.database import reading
from monitor.store.models import ModelContext, model_context
from monitor.store.profile_rows import read_window, segments
from monitor.windows import Grain, Window


@dataclass(frozen=True)
class RouteRow:
    """One route: share of requests with limits, latency, cost of a request, how often right."""

    route: str
    n: int
    share: float | None
    low: float | None
    high: float | None
    latency_p50: float | None
    latency_p95: float | None
    latency_unit: str
    cost: float | None
    currency: str
    right: float | None
    right_low: float | None
    right_high: float | None
    labelled: int
    why_not_right: str = ""


@dataclass(frozen=True)
class CascadeReport:
    """All routes in one span, what was passed on, and what went where the threshold sends it."""

    window: Window
    n: int
    routes: tuple[RouteRow, ...]
    escalated: Outcome
    kept: Outcome | None
    router: RouterCounts | None
    threshold: float | None

    def as_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "window": [self.window.start, self.window.end],
            "n": self.n,
            "routes": [vars(row) for row in self.routes],
            "escalated": asdict(self.escalated),
            "threshold": self.threshold,
            "threshold_kept": asdict(self.kept) if self.kept is not None else None,
            "router": asdict(self.router) if self.router is not None else None,
        }

    def sentences(self) -> list[str]:
        """What the numbers say of the router, in words."""
        told = [f"Passed on to a later route: {_share(self.escalated)}."]
        if self.kept is not None:
            told.append(f"Went where the threshold {self.threshold:g} sends it: "
                        f"{_share(self.kept)}{_against(self.router)}.")  # fmt: skip
        first, rest = self.routes[0], self.routes[1:]
        if first.right is not None:
            told.append(f"Router error: {1 - first.right:.1%} of the {first.labelled:,} labelled"
                        f" requests that {first.route} kept are wrong.")  # fmt: skip
        told += [
            f"Of those that {row.route} answered, {1 - row.right:.1%} are wrong all the same"
            f" (n = {row.labelled:,})."
            for row in rest
            if row.right is not None
        ]
        told.append("Whether a cheaper route would have been right on what was passed on is not"
                    " known unless it answers on a shadow leg.")  # fmt: skip
        return told


def cascade_report(
    engine: Engine, project_id: int, context: ModelContext, window: Window, leg: str = "live"
) -> CascadeReport | None:
    """The report of whole hours in a span; None when the contract has no cascade."""
    cascade = context.contract.cascade
    if cascade is None:
        return None
    span = _whole_hours(window)
    with reading(engine, project_id) as connection:
        served = _part(connection, project_id, context.model_id, PartKind.SERVING, span, leg)
        labels = _label_parts(connection, project_id, context, cascade, span, leg)
    counts = word_counts(served, cascade.route)
    shares = route_shares(cascade.routes, counts)
    router = router_counts(served, cascade)
    rows = tuple(
        _row(context.contract, served, route, counts.get(route, 0), shares[route], span,
             labels.get(route))
        for route in cascade.routes
    )  # fmt: skip
    return CascadeReport(
        span, sum(outcome_counts(served).values()), rows,
        escalated_share(cascade.routes, counts),
        threshold_kept(router) if cascade.score is not None else None, router, cascade.threshold,
    )  # fmt: skip


def cascade_of(
    engine: Engine, project_id: int, model_name: str, window: Window
) -> CascadeReport | None:
    """The report of a model by its name, of live requests; None without a cascade."""
    with reading(engine, project_id) as connection:
        context = model_context(connection, project_id, model_name, b"")
    return cascade_report(engine, project_id, context, window) if context is not None else None


def _whole_hours(window: Window) -> Window:
    start = Window.holding(window.start, Grain.HOUR).start
    last = Window.holding(window.end, Grain.HOUR)
    return Window(start, last.start if last.start == window.end else last.end)


def _part(
    connection: Connection,
    project_id: int,
    model_id: int,
    kind: PartKind,
    span: Window,
    leg: str,
    segment_ids: Sequence[int] = (0,),
) -> Part:
    stored = read_window(connection, project_id, model_id, kind, span, segment_ids=segment_ids)
    return merge([each.part for each in stored if each.key.leg == leg])


def _label_parts(
    connection: Connection,
    project_id: int,
    context: ModelContext,
    cascade: Cascade,
    span: Window,
    leg: str,
) -> dict[str, Part]:
    """Labels of each route, where the route column is a segment of the contract."""
    wanted = {
        definition[cascade.route]: number
        for number, definition in segments(connection, project_id, context.model_id).items()
        if set(definition) == {cascade.route}
    }
    return {
        route: _part(connection, project_id, context.model_id, PartKind.LABELS, span, leg, [number])
        for route, number in wanted.items()
    }


def _row(
    contract: Contract,
    served: Part,
    route: str,
    n: int,
    share: Outcome,
    span: Window,
    labels: Part | None,
) -> RouteRow:
    latency = column_holding(contract, "latency")
    place = ""
    if latency is not None and contract.cascade is not None:
        place = split_name(latency.name, contract.cascade.route, route)
    p50, p95 = quantile(served, place, 0.5), quantile(served, place, 0.95)
    right = _right(contract, labels)
    known = right if isinstance(right, Measured) else None
    return RouteRow(
        route=route,
        n=n,
        share=share.value if isinstance(share, Measured) else None,
        low=share.low if isinstance(share, Measured) else None,
        high=share.high if isinstance(share, Measured) else None,
        latency_p50=p50.value if p50 else None,
        latency_p95=p95.value if p95 else None,
        latency_unit=(latency.unit or "ms") if latency else "",
        cost=_cost(contract, served, route, n, span),
        currency=contract.costs.currency if contract.costs else "",
        right=known.value if known else None,
        right_low=known.low if known else None,
        right_high=known.high if known else None,
        labelled=known.n if known else 0,
        why_not_right="" if known else _why(right),
    )


def _cost(contract: Contract, served: Part, route: str, n: int, span: Window) -> float | None:
    """Usage of the route's requests, each; capacity and review are of the whole and left out."""
    if contract.costs is None or contract.cascade is None or n == 0:
        return None
    usage = usage_of(served, contract, (span.end - span.start).total_seconds())
    mine = usage.by_route.get(route)
    if mine is None:
        return None
    declared = contract.costs.model_copy(
        update={
            "prices": tuple(
                each.model_copy(update={"route": None})
                for each in contract.costs.prices
                if each.route in (None, route)
            ),
            **dict.fromkeys(("capacity", "power", "retry_share", "review_per_hour")),
        }
    )
    return bill(declared, type(usage)(n, usage.seconds, mine)).total / n


def _right(contract: Contract, labels: Part | None) -> Outcome:
    if labels is None:
        return Failed("labels are not judged by route: list the route column in segments")
    found: Mapping[str, Outcome] = {}
    if contract.task is Task.BINARY:
        found = binary_quality(binary_counts(labels))
    elif contract.task is Task.MULTICLASS:
        counts = confusion_counts(labels, len(classes_of(contract)))
        found = multiclass_quality(counts) if np.any(counts.matrix) else {}
    return found.get("accuracy", TooFew(0, 1, "labelled rows of a binary or multiclass model"))


def _why(outcome: Outcome) -> str:
    if isinstance(outcome, TooFew):
        return f"{outcome.n:,} of {outcome.needed:,} {outcome.reason}"
    return outcome.reason if isinstance(outcome, Failed) else ""


def _share(outcome: Outcome) -> str:
    if not isinstance(outcome, Measured):
        return _why(outcome)
    limits = ""
    if outcome.low is not None and outcome.high is not None:
        limits = f" ({outcome.low:.1%} to {outcome.high:.1%})"
    return f"{outcome.value:.1%}{limits}"


def _against(router: RouterCounts | None) -> str:
    if router is None:
        return ""
    return (f"; kept against it {router.kept_against:,}, passed on against it"
            f" {router.passed_against:,}")  # fmt: skip
