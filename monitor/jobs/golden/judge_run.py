"""Judges a replayed run: reads its answers, compares, stores verdict and measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from monitor.checks.registry import CheckName, entry
from monitor.contract import ColumnType, Contract
from monitor.deployment import Tags
from monitor.errors import UnknownSubject
from monitor.golden import CaseKey, GoldenSet, replay_leg
from monitor.jobs.base import JobContext
from monitor.jobs.check_windows import save_measurements
from monitor.jobs.golden.answers import Answers, answers_of
from monitor.jobs.golden.judge import AsStored, judge_set, newest_of_each
from monitor.jobs.golden.references import Known, reference_side
from monitor.jobs.golden.versus import Side, Versus, versus
from monitor.keys import keyed_hash
from monitor.measurement import Measured, Measurement, Outcome, Subject, TooFew
from monitor.store.engine import Role, transaction
from monitor.store.golden import NewRun, PassedRun, golden_set_of, passed_runs, save_runs
from monitor.store.models import deployment_names, deployment_tags
from monitor.store.request_rows import leg_chunks
from monitor.windows import Window

PASSED, FAILED = "passed", "failed"
MOST_LISTED = 200
SEED = 8


@dataclass(frozen=True)
class JudgedRun:
    """One deployment's verdict on a version of a set, with what it rests on."""

    set_name: str
    version: int
    side: Side
    versus: Versus | None
    roll_back_to: PassedRun | None
    names: Mapping[int, str]
    tags: Mapping[int, Tags]

    @property
    def verdict(self) -> str:
        return PASSED if self.side.result.passed else FAILED

    @property
    def roll_back(self) -> str:
        """The sentence that names the deployment to go back to; empty when the set passed."""
        if self.side.result.passed:
            return ""
        asked = f"{self.set_name}@{self.version}"
        if self.roll_back_to is None:
            return f"No other deployment has passed {asked}: there is none to roll back to."
        number = self.roll_back_to.deployment_id
        return f"Roll back to {self.told(number)}, the newest that passed {asked}."

    def told(self, number: int) -> str:
        """A deployment as people know it: number, name and tags."""
        name = f" {self.names[number]}" if number in self.names else ""
        return f"deployment {number}{name} ({self.tags.get(number, Tags(())).summary()})"

    def to_json(self) -> dict[str, Any]:
        """The body that is stored and printed; failed cases in full, at most 200 of them."""
        result = self.side.result
        failed = [case.to_json() for case in result.cases if not case.passed]
        target = self.roll_back_to.deployment_id if self.roll_back_to else None
        return {
            "why": result.why,
            "cases": len(result.cases),
            "passed_cases": result.n_passed,
            "kinds": {kind: list(counts) for kind, counts in result.by_kind().items()},
            "failed": failed[:MOST_LISTED],
            "failed_not_listed": max(0, len(failed) - MOST_LISTED),
            "differences": {name: one.to_json() for name, one in result.differences.items()},
            "latency_median": _median_latency(self.side.answers),
            "versus": self.versus.to_json() if self.versus else None,
            "roll_back_to": target if not result.passed else None,
            "roll_back": self.roll_back,
            "tags": self.side.tags.as_dict(),
        }


def judge_run(
    context: JobContext,
    name: str,
    run: str,
    *,
    version: int | None = None,
    reference: str | None = None,
    by: str,
) -> list[JudgedRun]:
    """Judge every deployment that answered a set on leg replay:RUN, and store the verdicts.

    Without a version the newest that has answers there. Without a reference the newest other
    deployment that passed the version. Raises UnknownSubject when there is nothing to judge.
    """
    leg = replay_leg(run)
    answers = read_leg(context, leg)
    content, version = _asked(context, name, version, answers, leg)
    mine = of_set(answers, name, version)
    known = _known(context, content, version)
    sides = [
        _side(context, content, known, leg, mine, int(number))
        for number in np.unique(mine.deployment_id)
    ]
    judged = [_judged(context, content, known, side, reference) for side in sides]
    _save(context, judged, by)
    return judged


def read_leg(context: JobContext, leg: str) -> Answers:
    """All stored answers of a leg."""
    with leg_chunks(context.bulk, context.project_id, context.model_id, leg, None) as chunks:
        return answers_of(chunks, context.model)


def of_set(answers: Answers, name: str, version: int) -> Answers:
    """The answers to one version of a set, by whichever deployment."""
    start = f"{name}@{version}/"
    return answers.take(
        np.array([i for i, given in enumerate(answers.ids) if given.startswith(start)], np.int64)
    )


def _asked(
    context: JobContext, name: str, version: int | None, answers: Answers, leg: str
) -> tuple[GoldenSet, int]:
    """The set whose answers are there; UnknownSubject says what stands on the leg instead."""
    keys = [key for key in map(CaseKey.of, answers.ids) if key is not None]
    versions = {key.version for key in keys if key.set_name == name}
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        wanted = max(versions, default=None) if version is None else version
        stored = golden_set_of(connection, context.project_id, context.model_id, name, wanted)
    if stored.version not in versions:
        there = ", ".join(sorted({f"{key.set_name}@{key.version}" for key in keys})) or "nothing"
        raise UnknownSubject(
            f"no answer to {name}@{stored.version} on leg {leg}; there is: {there}. Replay it"
            f" first: inferwatch golden replay {name} --run NAME --url URL"
        )
    return stored.content, stored.version


def _known(context: JobContext, content: GoldenSet, version: int) -> Known:
    project, model = context.project_id, context.model_id
    with transaction(context.engine, project, Role.WORKER) as connection:
        return Known(
            content=content,
            version=version,
            tags=deployment_tags(connection, project, model),
            names=deployment_names(connection, project, model),
            passed=tuple(passed_runs(connection, project, model, content.name, version)),
        )


def _side(
    context: JobContext, content: GoldenSet, known: Known, leg: str, answers: Answers, number: int
) -> Side:
    own = newest_of_each(answers.take(np.flatnonzero(answers.deployment_id == number)))
    result = judge_set(content, own, as_stored(context.contract, context.model.hash_key))
    return Side(number, leg, known.tags.get(number, Tags(())), own, result)


def as_stored(contract: Contract, hash_key: bytes) -> AsStored:
    """Expected texts as intake stores them: by their keyed hash, unless the text is kept."""
    hashed = {c.name for c in contract.columns if c.type is ColumnType.TEXT and not c.keep_text}

    def stored(column: str, text: str) -> str:
        if column not in hashed:
            return text
        return f"{int(keyed_hash([text], hash_key).view(np.uint64)[0]):016x}"

    return stored


def _judged(
    context: JobContext, content: GoldenSet, known: Known, side: Side, reference: str | None
) -> JudgedRun:
    def read(leg: str, number: int) -> Side:
        answers = of_set(read_leg(context, leg), content.name, known.version)
        return _side(context, content, known, leg, answers, number)

    def there(leg: str) -> list[int]:
        answers = of_set(read_leg(context, leg), content.name, known.version)
        return [int(number) for number in np.unique(answers.deployment_id)]

    other = reference_side(known, side, reference, there, read)
    rng = np.random.default_rng(SEED)
    others = [one for one in known.passed if one.deployment_id != side.deployment_id]
    return JudgedRun(
        set_name=content.name,
        version=known.version,
        side=side,
        versus=versus(content, context.contract, other, side, rng) if other else None,
        roll_back_to=others[0] if others else None,
        names=known.names,
        tags=known.tags,
    )


def _save(context: JobContext, judged: list[JudgedRun], by: str) -> None:
    project, model = context.project_id, context.model_id
    runs = [
        NewRun(
            set_name=one.set_name,
            set_version=one.version,
            leg=one.side.leg,
            deployment_id=one.side.deployment_id,
            reference_id=one.versus.reference_id if one.versus else None,
            verdict=one.verdict,
            body=one.to_json(),
            judged_by=by,
            known_at=context.now,
        )
        for one in judged
    ]
    with transaction(context.engine, project, Role.WORKER) as connection:
        save_runs(connection, project, model, runs)
        found = [each for one in judged for each in measurements_of(one, context)]
        save_measurements(connection, context, found)


def measurements_of(judged: JudgedRun, context: JobContext) -> list[Measurement]:
    """pass_rate and regressions of the set, max_difference of each numeric column."""
    side, result = judged.side, judged.side.result
    window = window_of(side.answers)
    failed = [case.id for case in result.cases if not case.passed]
    detail: dict[str, Any] = {"rule": result.why, "failed": failed[:50], "run": side.leg}
    if judged.roll_back:
        detail["roll_back"] = judged.roll_back
    rate = Measured(result.n_passed / len(result.cases), len(result.cases), detail=detail)
    found: list[tuple[str, str, Outcome, str | None]] = [
        ("pass_rate", judged.set_name, rate, None),
        ("regressions", judged.set_name, _regressions(judged), None),
    ]
    for column, each in result.differences.items():
        outcome: Outcome = TooFew(0, 1, "answers with a number")
        if each.largest is not None:
            told = {"beyond": each.beyond, "rounding": each.rounding or "none"}
            outcome = Measured(each.largest, each.n, detail=told)
        unit = context.contract.column(column).unit or ""
        found.append(("max_difference", f"{judged.set_name}/{column}", outcome, unit))
    return [
        _measurement(
            method, Subject((side.deployment_id,), side.leg, 0, name), window, one, unit,
            context.now,
        )
        for method, name, one, unit in found
    ]  # fmt: skip


def _regressions(judged: JudgedRun) -> Outcome:
    found = judged.versus
    if found is None:
        return TooFew(0, 1, "replays of another deployment to compare with")
    detail = {
        "reference": judged.told(found.reference_id),
        "cases": list(found.regressions)[:50],
        "p_value": found.test.p_value,
        "differs": found.differs.sentence,
    }
    return Measured(float(len(found.regressions)), found.counts.n, detail=detail)


def _measurement(
    method: str,
    subject: Subject,
    window: Window,
    outcome: Outcome,
    unit: str | None,
    known_at: datetime,
) -> Measurement:
    known = entry(CheckName.GOLDEN, method)
    return Measurement(
        check=known.check.value,
        method=known.method,
        method_version=known.version,
        subject=subject,
        window=window,
        outcome=outcome,
        unit=known.unit if unit is None else unit,
        direction=known.direction,
        known_at=known_at,
    )


def window_of(answers: Answers) -> Window:
    """From the first answer to just after the last: a later run is a later window."""
    first, last = (
        datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(at))
        for at in (answers.event_time.min(), answers.event_time.max())
    )
    return Window(first, last + timedelta(microseconds=1))


def _median_latency(answers: Answers) -> float | None:
    known = answers.latency[np.isfinite(answers.latency)]
    return float(np.median(known)) if len(known) else None
