"""The check jobs of days and months: load parts, measure purely, save with what rules say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.engine import Connection

from monitor.calendar import local_day, local_month
from monitor.intake.legs import is_replay
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.calibration_change import measure_calibration_change
from monitor.jobs.evaluate_rules import evaluate_rules
from monitor.jobs.grouping import WHOLE
from monitor.jobs.groups.month import measure_group_month
from monitor.jobs.maturity.earlier import EarlierCohorts, earlier_cohorts
from monitor.jobs.maturity.known import LabelDelays, known_delays
from monitor.jobs.names import CHECKS_DAY, CHECKS_MONTH
from monitor.jobs.plans.base import Plan, PlanInputs, Yardsticks
from monitor.jobs.plans.registry import OF_REQUESTS, PARTS, PLANS, SEGMENT_PLANS
from monitor.jobs.silent_days import plan_silent_days, silent_deployments
from monitor.measurement import Measurement
from monitor.profiles.part import Part, PartKind, merge
from monitor.records import LIVE_LEG
from monitor.store.baselines import current_baselines, current_binning
from monitor.store.engine import Role, transaction
from monitor.store.job_windows import Claim, due_windows, finish, relabelled_windows
from monitor.store.measurements import write_measurements
from monitor.store.profile_rows import StoredProfile, read_window
from monitor.windows import Window

WINDOWS_AT_ONCE = {CHECKS_DAY: 14, CHECKS_MONTH: 3}
SPANS = {CHECKS_DAY: local_day, CHECKS_MONTH: local_month}


@dataclass(frozen=True)
class SubjectKey:
    """Whose parts: a set of deployments on one leg, in one segment."""

    leg: str
    deployment_ids: tuple[int, ...]
    segment_id: int


@dataclass(frozen=True)
class LabelKnowledge:
    """What all windows of one run share: how soon labels come, and the cohorts before them."""

    delays: LabelDelays
    earlier: EarlierCohorts | None


def check_due_windows(context: JobContext, job: str) -> JobReport:
    """Run the checks of closed windows that are due, oldest first."""
    zone = context.contract.time_zone
    before = SPANS[job](context.now - context.contract.lateness.profiles, zone).start
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        if job == CHECKS_DAY:
            plan_silent_days(connection, context, before)
        starts = due_windows(
            connection, context.project_id, context.model_id, job, before, WINDOWS_AT_ONCE[job]
        )
    return run_claimed(context, job, starts, _check) if starts else JobReport()


def _check(context: JobContext, held: Claim) -> None:
    project, model = context.project_id, context.model_id
    with transaction(context.engine, project, Role.WORKER, snapshot=True) as connection:
        yardsticks = load_yardsticks(connection, project, model)
        relabelled = relabelled_windows(connection, held)
        labels = _label_knowledge(connection, context, held)
        found: list[Measurement] = []
        rows: dict[datetime, int] = {}
        for start in held.starts:
            resting = OF_REQUESTS if start in relabelled else frozenset()
            window = SPANS[held.job](start, context.contract.time_zone)
            inputs = list(_inputs(connection, context, held.job, window, yardsticks, labels))
            rows[start] = sum(len(each.parts) for each in inputs)
            found += [one for each in inputs for one in _planned(held.job, each, resting)]
            if held.job == CHECKS_MONTH:
                found += measure_group_month(connection, context, inputs)
                found += measure_calibration_change(connection, context, window, inputs)
        save_measurements(connection, context, found)
        finish(connection, held, rows)


def _label_knowledge(connection: Connection, context: JobContext, held: Claim) -> LabelKnowledge:
    earlier = None
    if held.job == CHECKS_DAY:
        earlier = earlier_cohorts(connection, context, held.starts[0], held.starts[-1])
    return LabelKnowledge(known_delays(connection, context), earlier)


def save_measurements(
    connection: Connection, context: JobContext, found: Sequence[Measurement]
) -> None:
    """Store measurements and what the alert rules make of them, in the caller's transaction."""
    project, model = context.project_id, context.model_id
    write_measurements(connection, project, model, found)
    evaluate_rules(connection, context, found)


def load_yardsticks(connection: Connection, project: int, model: int) -> Yardsticks:
    """The binning in use and the newest baselines made on it."""
    binning = current_binning(connection, project, model)
    baselines = current_baselines(connection, project, model) if binning is not None else []
    mine = tuple(one for one in baselines if binning is not None and one.binning_id == binning.id)
    return Yardsticks(binning.binning if binning is not None else None, mine)


def _planned(job: str, inputs: PlanInputs, resting: Set[Plan]) -> Iterator[Measurement]:
    plans = PLANS[job] if inputs.segment_id == WHOLE else SEGMENT_PLANS[job]
    for plan in plans:
        if plan not in resting:
            yield from plan(inputs)


def _inputs(
    connection: Connection,
    context: JobContext,
    job: str,
    window: Window,
    yardsticks: Yardsticks,
    labels: LabelKnowledge,
) -> Iterator[PlanInputs]:
    stored = _load(connection, context, job, window)
    yield from inputs_of(context, yardsticks, window, stored, labels)
    if job == CHECKS_DAY and not any(one.key.leg == LIVE_LEG for one in stored):
        for number in silent_deployments(connection, context, window):
            key = SubjectKey(LIVE_LEG, (number,), WHOLE)
            yield _input(context, yardsticks, window, key, {PartKind.SERVING: Part()})


def inputs_of(
    context: JobContext,
    yardsticks: Yardsticks,
    window: Window,
    stored: Sequence[StoredProfile],
    labels: LabelKnowledge | None = None,
) -> Iterator[PlanInputs]:
    """Stored parts of a window as what plans are given, a subject each."""
    pieces: dict[tuple[str, int], list[StoredProfile]] = defaultdict(list)
    for one in stored:
        if one.key.kind is PartKind.LABELS:
            pieces[(one.key.leg, one.key.segment_id)].append(one)
    subjects = _subjects(stored)
    served: dict[tuple[str, int], int] = defaultdict(int)
    for key in subjects:
        place = (key.leg, key.segment_id)
        served[place] = max(served[place], len(key.deployment_ids))
    for key, parts in subjects.items():
        place = (key.leg, key.segment_id)
        made = _input(context, yardsticks, window, key, parts)
        yield replace(
            made,
            is_whole=len(key.deployment_ids) == served[place],
            label_pieces=tuple(
                one for one in pieces[place] if one.key.deployment_id in key.deployment_ids
            ),
            delays=labels.delays if labels is not None else made.delays,
            earlier=labels.earlier if labels is not None else None,
        )


def _input(
    context: JobContext,
    yardsticks: Yardsticks,
    window: Window,
    key: SubjectKey,
    parts: Mapping[PartKind, Part],
) -> PlanInputs:
    return PlanInputs(
        contract=context.contract,
        yardsticks=yardsticks,
        window=window,
        leg=key.leg,
        deployment_ids=key.deployment_ids,
        segment_id=key.segment_id,
        parts=parts,
        known_at=context.now,
    )


def _load(
    connection: Connection, context: JobContext, job: str, window: Window
) -> list[StoredProfile]:
    binning = current_binning(connection, context.project_id, context.model_id)
    found: list[StoredProfile] = []
    for kind in PARTS[job]:
        binned = kind is PartKind.COLUMNS
        if binned and binning is None:
            continue
        segmented = kind is PartKind.LABELS and SEGMENT_PLANS[job]
        found += read_window(
            connection, context.project_id, context.model_id, kind, window,
            segment_ids=None if segmented else (WHOLE,),
            binning_ids=(binning.id,) if binned and binning is not None else None,
        )  # fmt: skip
    return found


def _subjects(stored: Sequence[StoredProfile]) -> Mapping[SubjectKey, Mapping[PartKind, Part]]:
    """Merged parts of each deployment by itself, and of all of a leg together.

    Replays are left out: their cases are chosen, and judged by their golden set alone.
    """
    single: dict[tuple[str, int], dict[int, dict[PartKind, list[Part]]]] = defaultdict(dict)
    for one in stored:
        if is_replay(one.key.leg):
            continue
        deployments = single[(one.key.leg, one.key.segment_id)]
        by_kind = deployments.setdefault(one.key.deployment_id, defaultdict(list))
        by_kind[one.key.kind].append(one.part)
    subjects: dict[SubjectKey, Mapping[PartKind, Part]] = {}
    for (leg, segment), deployments in single.items():
        own = {number: _merged(by_kind) for number, by_kind in deployments.items()}
        for number, parts in own.items():
            subjects[SubjectKey(leg, (number,), segment)] = parts
        if len(own) > 1:
            together: dict[PartKind, list[Part]] = defaultdict(list)
            for parts in own.values():
                for kind, part in parts.items():
                    together[kind].append(part)
            subjects[SubjectKey(leg, tuple(sorted(own)), segment)] = _merged(together)
    return subjects


def _merged(by_kind: Mapping[PartKind, Sequence[Part]]) -> dict[PartKind, Part]:
    return {kind: merge(parts) for kind, parts in by_kind.items()}
