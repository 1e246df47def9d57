"""Shadow pairs of a window: read, compared by deployments, stored as verdicts and measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import wilson_limits
from monitor.checks.registry import CheckName, entry
from monitor.deployment import Tags
from monitor.errors import UnknownSubject
from monitor.jobs.base import JobContext
from monitor.jobs.check_windows import save_measurements
from monitor.jobs.golden.compare import ColumnComparison
from monitor.jobs.golden.pairs import Pairs, labels_of, read_pairs
from monitor.jobs.golden.shadow import FEWEST_PAIRS, ShadowResult, Tolerances, compare_shadow
from monitor.measurement import Measured, Measurement, Outcome, Subject, TooFew
from monitor.store.engine import Role, transaction
from monitor.store.golden import NewRun, save_runs
from monitor.store.models import deployment_names, deployment_tags
from monitor.windows import Window

MOST_COMBINATIONS = 20
NO_VERSION = 0
SEED = 9


@dataclass(frozen=True)
class ShadowRun:
    """The comparison of a window: one result for each live and shadow deployment with pairs."""

    leg: str
    window: Window
    pairs: int
    live_alone: int
    shadow_alone: int
    ambiguous: int
    results: tuple[ShadowResult, ...]
    not_compared: int
    names: Mapping[int, str]
    tags: Mapping[int, Tags]

    def told(self, number: int) -> str:
        """A deployment as people know it: number, name and tags."""
        name = f" {self.names[number]}" if number in self.names else ""
        return f"deployment {number}{name} ({self.tags.get(number, Tags(())).summary()})"


def shadow_run(
    context: JobContext, name: str, window: Window, tolerances: Tolerances, *, by: str
) -> ShadowRun:
    """Compare leg shadow:NAME with the live leg in a window, and store what is found.

    Raises UnknownSubject when the shadow leg holds nothing there.
    """
    leg = f"shadow:{name}"
    pairs = read_pairs(context, leg, window)
    if not len(pairs) and not pairs.shadow_alone and not pairs.ambiguous:
        raise UnknownSubject(
            f"no request of {context.contract.model} on leg {leg} from"
            f" {window.start:%Y-%m-%dT%H:%MZ} to {window.end:%Y-%m-%dT%H:%MZ}; see --window"
        )
    labels = labels_of(context, pairs.live, window)
    project, model = context.project_id, context.model_id
    with transaction(context.engine, project, Role.WORKER) as connection:
        tags = deployment_tags(connection, project, model)
        names = deployment_names(connection, project, model)
    combinations = pairs.combinations()
    results = tuple(
        compare_shadow(
            context.contract, tags, pairs.live.take(places), pairs.shadow.take(places),
            labels[places], tolerances, np.random.default_rng(SEED),
        )
        for _, _, places in combinations[:MOST_COMBINATIONS]
    )  # fmt: skip
    run = ShadowRun(
        leg=leg,
        window=window,
        pairs=len(pairs),
        live_alone=pairs.live_alone,
        shadow_alone=pairs.shadow_alone,
        ambiguous=pairs.ambiguous,
        results=results,
        not_compared=len(combinations) - len(results),
        names=names,
        tags=tags,
    )
    _save(context, run, pairs, by)
    return run


def _save(context: JobContext, run: ShadowRun, pairs: Pairs, by: str) -> None:
    project, model = context.project_id, context.model_id
    shared = {
        "window": [run.window.start.isoformat(), run.window.end.isoformat()],
        "live_alone": run.live_alone,
        "shadow_alone": run.shadow_alone,
        "ambiguous": run.ambiguous,
    }
    runs = [
        NewRun(
            set_name=run.leg,
            set_version=NO_VERSION,
            leg=run.leg,
            deployment_id=one.shadow_id,
            reference_id=one.live_id,
            verdict=one.verdict.value,
            body={**shared, **one.to_json()},
            judged_by=by,
            known_at=context.now,
        )
        for one in run.results
    ]
    found = [each for one in run.results for each in _measurements(context, run, one)]
    if not run.results:
        found = list(_without_pairs(context, run, pairs.shadow_deployments))
    with transaction(context.engine, project, Role.WORKER) as connection:
        save_runs(connection, project, model, runs)
        save_measurements(connection, context, found)


def _measurements(context: JobContext, run: ShadowRun, one: ShadowResult) -> Iterator[Measurement]:
    numbers = tuple({one.live_id, one.shadow_id})
    differs = {"differs": one.differs.sentence, "verdict": one.verdict.value}
    for method, column, outcome in _outcomes(run, one):
        told = outcome
        if isinstance(outcome, Measured):
            told = replace(outcome, detail={**outcome.detail, **differs})
        yield _measurement(context, run, method, numbers, column, told)


def _without_pairs(
    context: JobContext, run: ShadowRun, deployments: tuple[int, ...]
) -> Iterator[Measurement]:
    """What is said of a shadow leg of which no request has a partner."""
    if deployments:
        few = TooFew(0, FEWEST_PAIRS, "pairs")
        yield _measurement(context, run, "agreement", deployments, "", few)
        yield _measurement(context, run, "unpaired", deployments, "", _unpaired(run))


def _measurement(
    context: JobContext,
    run: ShadowRun,
    method: str,
    deployments: tuple[int, ...],
    column: str,
    outcome: Outcome,
) -> Measurement:
    known = entry(CheckName.SHADOW, method)
    own = known.unit == "column"  # a difference is in the unit of what differs
    return Measurement(
        check=known.check.value,
        method=known.method,
        method_version=known.version,
        subject=Subject(deployments, run.leg, 0, column),
        window=run.window,
        outcome=outcome,
        unit=(context.contract.column(column).unit or "") if own else known.unit,
        direction=known.direction,
        known_at=context.now,
    )


def _outcomes(run: ShadowRun, one: ShadowResult) -> Iterator[tuple[str, str, Outcome]]:
    yield "agreement", "", one.agreement
    yield "accuracy_difference", "", one.accuracy
    yield "loss_difference", "", one.loss
    yield "unpaired", "", _unpaired(run)
    for column in one.columns:
        if column.numbers is not None:
            yield from _of_numbers(column)


def _unpaired(run: ShadowRun) -> Outcome:
    """Shadow requests of the window without a live partner; live ones in the detail."""
    n = run.pairs + run.shadow_alone
    limits = wilson_limits(run.shadow_alone, n) if n else None
    detail = {"live_alone": run.live_alone, "ambiguous": run.ambiguous}
    share = run.shadow_alone / n if n else None
    return measured_above((Floor(n, 1, "shadow requests"),), share, n, limits, detail)


def _of_numbers(column: ColumnComparison) -> Iterator[tuple[str, str, Outcome]]:
    found = column.numbers
    if found is None:
        return
    largest: Outcome = TooFew(0, 1, "pairs with a number on both sides")
    if found.largest is not None:
        detail = {"mean": found.mean, "rounding": found.rounding or "none"}
        largest = Measured(found.largest, found.n, detail=detail)
    yield "max_difference", column.column, largest
    n = found.compared
    limits = wilson_limits(found.beyond, n) if n else None
    share = found.share_beyond if n else None
    floors = (Floor(n, FEWEST_PAIRS, "pairs with a number"),)
    yield "beyond_tolerance", column.column, measured_above(floors, share, n, limits)
