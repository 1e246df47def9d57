"""Explains why the loss of one window differs from that of another, from what is stored of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from monitor.checks.context.explained import SampledColumn, explain_output
from monitor.checks.context.loss_split import JudgedRows, loss_split
from monitor.checks.context.segment_losses import SegmentShare, segment_shares
from monitor.checks.slice_counts import coarse_column
from monitor.contract import Task
from monitor.errors import ConfigurationError, Problem
from monitor.jobs.base import JobContext
from monitor.jobs.explanation.segments import by_key, segment_sums
from monitor.jobs.explanation.told import (
    lacks,
    sentences,
    told,
    told_columns,
    told_segments,
    told_side,
    told_split,
)
from monitor.jobs.labelled_sample import JUDGED, LabelledSample, labelled_sample
from monitor.jobs.promise.sampled import cells_of, is_input
from monitor.measurement import TooFew
from monitor.profiles.arrays import Integers
from monitor.store.baselines import current_binning
from monitor.store.engine import Role, transaction
from monitor.store.explanations import StoredExplanation, save_explanation
from monitor.store.profile_rows import segments
from monitor.windows import Window

METHOD = "disde"
MOST_ROWS = 4_000
MOST_COLUMNS = 30
SEED = 20_230_302


@dataclass(frozen=True)
class Question:
    """Whose requests, in which two windows."""

    window: Window
    reference: Window
    leg: str
    deployment_ids: tuple[int, ...] = ()


def explain(context: JobContext, question: Question, *, by: str) -> StoredExplanation:
    """Explain and keep it. ConfigurationError for models whose requests have no loss, and for two
    windows that overlap."""
    _require_judged(context)
    _require_apart(question)
    with transaction(context.engine, context.project_id, Role.WORKER, snapshot=True) as connection:
        made = StoredExplanation(
            leg=question.leg,
            method=METHOD,
            window=question.window,
            reference=question.reference,
            body=_body(connection, context, question),
            made_by=by,
            known_at=context.now,
        )
        save_explanation(connection, context.project_id, context.model_id, made)
    return made


def _require_judged(context: JobContext) -> None:
    contract = context.contract
    if contract.label is None:
        what = f"{contract.model} declares no label; without one there is no quality to explain"
        raise ConfigurationError("command", [Problem("MODEL", what)])
    if contract.task not in JUDGED:
        what = f"{contract.model} is a {contract.task} model; losses are explained for binary,"
        what += " multiclass and regression models"
        raise ConfigurationError("command", [Problem("MODEL", what)])


def _require_apart(question: Question) -> None:
    window, reference = question.window, question.reference
    if window.start < reference.end and reference.start < window.end:
        what = f"{reference} overlaps the window {window}; compare two times apart"
        raise ConfigurationError("command", [Problem("--reference", what)])


def _body(connection: Connection, context: JobContext, question: Question) -> dict[str, Any]:
    share = context.contract.task is not Task.REGRESSION
    body: dict[str, Any] = {
        "deployment_ids": list(question.deployment_ids),
        "loss": "error rate" if share else "mean absolute error",
        "unit": "share" if share else "label",
        "seed": SEED,
    }
    waiting = _immature(context, question)
    if waiting is not None:
        return body | {"split": told(waiting), "sentences": [lacks(waiting)]}
    sides = [
        labelled_sample(
            connection, context, window, question.leg, question.deployment_ids, MOST_ROWS
        )
        for window in (question.reference, question.window)
    ]
    then, now = sides
    if then is None or now is None:
        none = TooFew(0, 1, "sampled requests in one of the windows")
        return body | {"split": told(none), "sentences": [lacks(none)]}
    body |= {"then": told_side(then), "now": told_side(now)}
    return body | _found(connection, context, question, then, now, share=share)


def _immature(context: JobContext, question: Question) -> TooFew | None:
    """Cohorts must be equally old to be compared: both windows must have all their labels."""
    label = context.contract.label
    if label is None:
        raise AssertionError("models without a label are refused before")
    for name, window in (("reference", question.reference), ("window", question.window)):
        due = window.end + label.max_age
        if due > context.now:
            days = max(0, (context.now - window.end).days)
            needed = max(days + 1, label.max_age.days)
            what = f"days since the {name}'s end; its labels are still coming until {due:%Y-%m-%d}"
            return TooFew(days, needed, what)
    return None


def _found(
    connection: Connection,
    context: JobContext,
    question: Question,
    then: LabelledSample,
    now: LabelledSample,
    *,
    share: bool,
) -> dict[str, Any]:
    columns = _columns(connection, context, then, now)
    if not columns:
        none = TooFew(0, 1, "input columns with cells; a baseline makes them")
        return {"split": told(none), "sentences": [lacks(none)]}
    sizes = [column.n_cells for column in columns]
    split = loss_split(
        JudgedRows(_stacked(columns, "reference"), then.loss, then.entities),
        JudgedRows(_stacked(columns, "current"), now.loss, now.entities),
        sizes,
        seed=SEED,
    )
    ranked = explain_output(
        columns, then.loss, now.loss, seed=SEED, entities=(then.entities, now.entities)
    )
    contributions = _segments(connection, context, question)
    return {
        "columns_used": [column.name for column in columns],
        "split": told_split(split),
        "columns": told_columns(ranked),
        "segments": {key: told_segments(each) for key, each in contributions.items()},
        "sentences": sentences(split, ranked, contributions, share=share),
    }


def _columns(
    connection: Connection, context: JobContext, then: LabelledSample, now: LabelledSample
) -> list[SampledColumn]:
    """Inputs in coarse groups of about equal size in the reference."""
    binning = current_binning(connection, context.project_id, context.model_id)
    if binning is None:
        return []
    found = []
    for column in context.contract.columns:
        if not is_input(column, binning.binning, [then.table, now.table]):
            continue
        view = binning.binning.views[column.name]
        before, after = (cells_of(side.table[column.name], view) for side in (then, now))
        counts = np.bincount(before, minlength=view.n_cells).astype(np.int64)
        coarse = coarse_column(column.name, view, counts)
        groups = coarse.group_of_cell
        found.append(SampledColumn(column.name, groups[before], groups[after], len(coarse.labels)))
    return found[:MOST_COLUMNS]


def _stacked(columns: Sequence[SampledColumn], side: str) -> Integers:
    return np.stack([getattr(column, side) for column in columns]).astype(np.int64)


def _segments(
    connection: Connection, context: JobContext, question: Question
) -> dict[str, tuple[SegmentShare, ...] | TooFew]:
    sides = [
        segment_sums(connection, context, window, question.leg, question.deployment_ids)
        for window in (question.reference, question.window)
    ]
    definitions = segments(connection, context.project_id, context.model_id)
    keyed = by_key(sides[0], sides[1], definitions)
    return {key: segment_shares(labels, then, now) for key, (labels, then, now) in keyed.items()}
