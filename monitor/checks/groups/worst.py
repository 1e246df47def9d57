"""The group of rows that does worst: found on one half of the entities, confirmed on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from monitor.checks.intervals import newcombe_limits
from monitor.checks.slice_counts import SliceColumn, SliceStatistic
from monitor.checks.slices import Half, Slice, SliceRows, SliceSearch, worst_slices
from monitor.measurement import Measured, Outcome, TooFew

LOOKED_AT = 10
LEAST_Z = 2.0


def worst_group(columns: Sequence[SliceColumn], rows: SliceRows) -> Outcome:
    """How much worse the group does that stood out most, on rows that did not choose it.

    `rows.output` float64[n] is the loss of each labelled row (0/1 errors, or absolute errors),
    `rows.hashes` keyed hashes of entities. Groups of one or two columns are searched on one half of
    the entities by z against all other rows; the value is the difference of the mean loss in the
    other half for the group with the largest z, with its 95 % interval (Newcombe for 0/1 losses,
    else normal): no choice was made on that half, so it is honest. The detail lists the groups
    discovered (z of 2 or more, and the first) with both halves side by side; `p_confirmed` is
    one-sided and Bonferroni over all discovered, `confirmed` says p <= 0.05. TooFew with fewer than
    200 rows in a half, or when nothing stood out. Groups below 100 rows or 1 % of a half are not
    seen.
    """
    found = worst_slices(
        columns, rows, None, SliceStatistic.AGAINST_REST, top=LOOKED_AT, only_higher=True
    )
    if not isinstance(found, SliceSearch):
        return found
    output = np.zeros(0) if rows.output is None else rows.output
    binary = bool(np.isin(output, (0.0, 1.0)).all())
    worse = [_sharper(one, binary) for one in found.slices]
    if not worse:
        return TooFew(0, 1, "groups of 100 rows that do worse than the rest")
    first = max(worse, key=lambda one: one.discovered.z)
    others = (one for one in worse if one is not first and one.discovered.z >= LEAST_Z)
    detail: dict[str, Any] = {
        "group": first.label,
        "p_value": first.p_confirmed,
        "confirmed": first.confirmed(),
        "searched": found.tested,
        "rows": found.n,
        "groups": [_told(one) for one in (first, *others)],
    }
    return _with_detail(first.effect, detail)


def _sharper(one: Slice, binary: bool) -> Slice:
    """With Newcombe's limits where losses are 0 or 1: normal ones collapse near 0."""
    effect = one.effect
    if not (binary and isinstance(effect, Measured) and effect.n_reference):
        return one
    n, m = effect.n, effect.n_reference
    events, others = round(effect.detail["now"] * n), round(effect.detail["rest"] * m)
    low, high = newcombe_limits(events, n, others, m)
    return replace(one, effect=replace(effect, low=low, high=high))


def _told(one: Slice) -> dict[str, Any]:
    effect = one.effect
    told: dict[str, Any] = {
        "group": one.label,
        "discovered": _half(one.discovered),
        "confirming": _half(one.confirming),
        "p_confirmed": one.p_confirmed,
        "confirmed": one.confirmed(),
    }
    if isinstance(effect, Measured):
        told |= {"gap": effect.value, "low": effect.low, "high": effect.high}
        told |= {"loss": effect.detail["now"], "loss_of_rest": effect.detail["rest"]}
    return told


def _half(half: Half) -> dict[str, Any]:
    return {"n": half.n, "z": half.z}


def _with_detail(effect: Outcome, detail: Mapping[str, Any]) -> Outcome:
    return replace(effect, detail={**effect.detail, **detail})
