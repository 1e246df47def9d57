"""Estimates of a cohort of a binary or multi-class model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.checks.estimation.binary import MIN_ROWS, BinaryEstimate, binary_estimates
from monitor.checks.estimation.calibrator import FittedCalibrator
from monitor.checks.estimation.multiclass import (
    ClassScores,
    MulticlassEstimate,
    multiclass_estimates,
)
from monitor.checks.estimation.served import ServedScores
from monitor.checks.estimation.support import ScoreSupport, score_support
from monitor.jobs.estimates.bench import Bench
from monitor.jobs.estimates.checked import PastError
from monitor.jobs.estimates.cohorts import Cohort
from monitor.jobs.estimates.reference import LabelledReference
from monitor.jobs.estimates.reweigh import reweighted
from monitor.jobs.estimates.telling import Basis, allowances, told
from monitor.measurement import Failed, Outcome, TooFew
from monitor.profiles.labels_multiclass import confusion_counts
from monitor.profiles.predictions import FIXED_BITS, MAX_CLASSES, classes_of

MOST_UNKNOWN = 0.2
CBPE, PAPE = "cbpe", "pape"

Errors = Mapping[str, list[PastError]]


@dataclass(frozen=True, eq=False)
class Standing:
    """What a cohort can be calibrated on: the reference, its deployments there, and the share of
    the cohort's requests whose deployment has too few labels of its own."""

    reference: LabelledReference
    deployment_ids: tuple[int, ...]
    unknown_share: float


def standing(bench: Bench, cohort: Cohort, rows: Mapping[int, int]) -> Standing | TooFew:
    """TooFew when more than 20 % of the requests are of deployments without 500 matured labels:
    another version's scores need not mean the same. `rows`: requests by deployment."""
    reference = bench.reference(cohort)
    if isinstance(reference, TooFew):
        return reference
    known = reference.known(cohort.deployment_ids)
    total = sum(rows.values())
    unknown = sum(n for number, n in rows.items() if number not in known)
    share = unknown / total if total else 0.0
    if not known or share > MOST_UNKNOWN:
        return _least_known(reference, {n: rows[n] for n in rows if n not in known})
    return Standing(reference, known, share)


def _least_known(reference: LabelledReference, rows: Mapping[int, int]) -> TooFew:
    """What the busiest deployment without labels enough is short of."""
    number = max(rows, key=lambda each: rows[each])
    short = reference.short_of((number,))
    if short is None:
        raise AssertionError(f"deployment {number} has labels enough; it is known")
    return TooFew(short.n, short.needed, f"matured {short.reason} (deployment {number})")


def binary(
    bench: Bench, cohort: Cohort, errors: Errors, *, look_closely: bool
) -> dict[str, Outcome]:
    """Accuracy, F1, Brier score and AUC to be expected."""
    rows = {number: ServedScores.of_part(part).n for number, part in cohort.parts.items()}
    found = standing(bench, cohort, rows)
    if isinstance(found, TooFew):
        return _all(BinaryEstimate, found, Basis(CBPE, None, 0), errors)
    served = ServedScores.of_part(cohort.part)
    labelled = found.reference.labelled(0, found.deployment_ids)
    support = score_support(labelled, served)
    gates: dict[str, Any] = {"score_outside": support.outside, "score_psi": support.psi}
    if found.reference.held_out is not None:
        gates["held_out_error"] = found.reference.held_out.error
        gates["held_out_p_value"] = found.reference.held_out.p_value
    n_reference = found.reference.n(found.deployment_ids)
    basis = Basis(CBPE, found.reference.window, n_reference, gates, found.unknown_share)
    held_out = found.reference.held_out
    stopped = support.withheld() or (held_out.withheld() if held_out else None)
    if stopped is not None and served.n >= MIN_ROWS:
        return _all(BinaryEstimate, stopped, basis, errors)
    fitted = bench.fitted(cohort, found.reference, found.deployment_ids)[0]
    if look_closely and cohort.is_whole:
        again, more = reweighted(bench, cohort, found.deployment_ids)
        gates |= more
        if isinstance(again, Failed):
            return _all(BinaryEstimate, again, basis, errors)
        if again is not None:
            fitted = again.fitted
            basis = Basis(
                PAPE, basis.window, math.floor(again.effective), gates, basis.unknown_share
            )
    return _told_binary(bench, cohort, served, fitted, basis, errors)


def _told_binary(
    bench: Bench,
    cohort: Cohort,
    served: ServedScores,
    fitted: FittedCalibrator,
    basis: Basis,
    errors: Errors,
) -> dict[str, Outcome]:
    allowed = {name: one.sigma for name, one in allowances(errors).items()}
    outcomes = binary_estimates(
        served, fitted, bench.rng(cohort), n_reference=basis.n_reference, allowance=allowed
    )
    return {
        name.value: told(outcome, basis, errors.get(name.value, []))
        for name, outcome in outcomes.items()
    }


def multiclass(bench: Bench, cohort: Cohort, errors: Errors) -> dict[str, Outcome]:
    """Accuracy and macro F1 to be expected, from the class scores in the prediction blocks."""
    classes = len(classes_of(bench.context.contract))
    basis = Basis(CBPE, None, 0)
    if classes > MAX_CLASSES:
        why = Failed(f"scores are kept of the first {MAX_CLASSES} classes only, not of {classes}")
        return _all(MulticlassEstimate, why, basis, errors)
    rows = {number: confusion_counts(part, classes).n for number, part in cohort.parts.items()}
    found = standing(bench, cohort, rows)
    if isinstance(found, TooFew):
        return _all(MulticlassEstimate, found, basis, errors)
    served = _class_scores(bench, cohort)
    outside = _most_outside(found, served)
    n_reference = found.reference.n(found.deployment_ids)
    gates = {"score_outside": outside.outside, "score_psi": outside.psi}
    basis = Basis(CBPE, found.reference.window, n_reference, gates, found.unknown_share)
    stopped = outside.withheld()
    if stopped is not None and len(served.predicted) >= MIN_ROWS:
        return _all(MulticlassEstimate, stopped, basis, errors)
    fitted = bench.fitted(cohort, found.reference, found.deployment_ids)
    allowed = {name: one.sigma for name, one in allowances(errors).items()}
    outcomes = multiclass_estimates(
        served, fitted, bench.rng(cohort), n_reference=n_reference, allowance=allowed
    )
    return {
        name.value: told(outcome, basis, errors.get(name.value, []))
        for name, outcome in outcomes.items()
    }


def _most_outside(found: Standing, served: ClassScores) -> ScoreSupport:
    """The support of the class whose scores lie outside the most."""
    return max(
        (
            score_support(
                found.reference.labelled(place, found.deployment_ids),
                ServedScores.of_rows(served.scores[:, place], np.zeros(len(served.predicted))),
            )
            for place in range(served.scores.shape[1])
        ),
        key=lambda one: one.outside,
    )


def _class_scores(bench: Bench, cohort: Cohort) -> ClassScores:
    """Scores and classes of the cohort's requests that have all of them."""
    blocks = [block for key, block in bench.blocks(cohort) if key.deployment_id in cohort.parts]
    scores = np.concatenate([block.class_scores for block in blocks])
    predicted = np.concatenate([block.predicted for block in blocks]).astype(np.int64)
    whole = (scores >= 0).all(axis=1) & (predicted >= 0)
    return ClassScores(scores[whole] / 2.0**FIXED_BITS, predicted[whole])


def _all(
    names: type[BinaryEstimate] | type[MulticlassEstimate],
    outcome: TooFew | Failed,
    basis: Basis,
    errors: Errors,
) -> dict[str, Outcome]:
    """The same outcome for every measure."""
    return {name.value: told(outcome, basis, errors.get(name.value, [])) for name in names}
