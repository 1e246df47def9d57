"""A calibrator refitted on sampled labelled rows that are weighted to look like the cohort's."""

from __future__ import annotations

from typing import Any

import numpy as np

from monitor.checks.estimation.reweighted import Reweighted, reweighted_calibrator
from monitor.checks.estimation.reweighting import TELLING, foreign_reason, likeness
from monitor.jobs.estimates.bench import Bench
from monitor.jobs.estimates.cohorts import Cohort
from monitor.jobs.estimates.sampled import matrices, sampled_score
from monitor.measurement import Failed, TooFew


def reweighted(
    bench: Bench, cohort: Cohort, deployment_ids: tuple[int, ...]
) -> tuple[Reweighted | Failed | None, dict[str, Any]]:
    """A calibrator for rows like the cohort's; Failed when it has none like them; None with the
    reason when there is nothing to correct or to correct it with."""
    views = bench.row_views(cohort)
    if not views or bench.binning is None:
        return None, {"reweighting": "columns that rows have by themselves are not learned yet"}
    then, sample = bench.joined(cohort), bench.sample(cohort)
    if then is None or sample is None:
        return None, {"reweighting": "no sampled labelled requests are left"}
    mine = np.isin(then.rows.deployment[then.places], deployment_ids)
    reference, now = matrices(views, bench.binning, then.table, sample)
    score, label = (each[then.places][mine] for each in (then.rows.score, then.rows.label))
    reference = reference[mine]
    now_score = sampled_score(bench.context, sample)
    if now_score is not None:
        reference, now = np.column_stack((reference, score)), np.column_stack((now, now_score))
    like = likeness(reference, now, seed=bench.context.model_id)
    if isinstance(like, TooFew):
        return None, {"reweighting": f"{like.n} {like.reason}, {like.needed} needed"}
    gates = {"classifier_auc": like.area, "foreign": like.foreign, "effective": like.effective}
    outside = foreign_reason(like.foreign)
    if outside is not None:
        return outside, gates
    if not like.told_apart:
        return None, {**gates, "reweighting": f"not needed: AUC below {TELLING}"}
    found = reweighted_calibrator(score, label, like.weight, bench.rng(cohort))
    if isinstance(found, TooFew):
        return None, {**gates, "reweighting": f"{found.n} {found.reason}, {found.needed} needed"}
    return found, gates
