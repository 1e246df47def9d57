"""Cost of a successful task where a signal tells success: made together with the day's signal."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy.engine import Connection

from monitor.checks.costs.per_success import Successes
from monitor.checks.registry import CheckName
from monitor.contract_quality import SignalKind
from monitor.jobs.base import JobContext
from monitor.jobs.plans.base import PlanInputs, Yardsticks
from monitor.jobs.plans.costs import answers_of, cost_measurements
from monitor.measurement import Measurement
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.serving import outcome_counts
from monitor.store.profile_rows import read_window
from monitor.windows import Window

_NO_YARDSTICKS = Yardsticks(None, ())


def costs_of_signals(
    connection: Connection, context: JobContext, found: Iterable[Measurement]
) -> list[Measurement]:
    """per_success of every subject and day whose signal of success was measured just now."""
    costs = context.contract.costs
    if costs is None or costs.signal is None:
        return []
    made: list[Measurement] = []
    for each in found:
        told = each.check == CheckName.SIGNAL.value and each.subject.column == costs.signal
        part = _served(connection, context, each) if told else None
        if part is not None:
            made += _per_success(context, each, part)
    return made


def _per_success(context: JobContext, measured: Measurement, part: Part) -> list[Measurement]:
    inputs = PlanInputs(
        contract=context.contract,
        yardsticks=_NO_YARDSTICKS,
        window=measured.window,
        leg=measured.subject.leg,
        deployment_ids=measured.subject.deployment_ids,
        segment_id=0,
        parts={PartKind.SERVING: part},
        known_at=context.now,
    )
    name = measured.subject.column
    kind = next(each.kind for each in context.contract.signals if each.name == name)
    # An event's share is of all requests, the others' of the answers that somebody judged.
    among = sum(outcome_counts(part).values()) if kind is SignalKind.EVENT else answers_of(part)
    successes = Successes(f"the signal {name} says so", among, measured.outcome)
    found = cost_measurements(inputs, part, successes)
    return [each for each in found if each.method.endswith("per_success")]


def _served(connection: Connection, context: JobContext, measured: Measurement) -> Part | None:
    window: Window = measured.window
    stored = read_window(connection, context.project_id, context.model_id, PartKind.SERVING, window)
    mine = [
        each.part
        for each in stored
        if each.key.leg == measured.subject.leg
        and each.key.deployment_id in measured.subject.deployment_ids
    ]
    return merge(mine) if mine else None
