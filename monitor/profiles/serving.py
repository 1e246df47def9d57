"""The serving part of a profile: outcomes, their reasons, and logarithmic bins of measured values.

Names in the part: `outcome` int64[16] by RequestOutcome; `reason/{outcome}/{text}` int64[1], where
the text is the sender's reason with long numbers and identifiers replaced by `#` and cut to 100
characters, so that reasons stay few; `missing/{column}` int64[1]; `good/{column}/{limit}` int64[1]
where the contract has an objective: requests answered (also from a cache) with a value of that
column up to the limit, which stands in the name so that counts of two limits never add up; sparse
`log/{column}` for the columns with the roles timing, count and cost.
`log_cells` says how. More, each only where the contract has the columns: words and flags
(`serving_words`), cells by word, flag or outcome (`serving_splits`), sums of two counts
(`serving_sums`), what follows from several columns (`serving_derived`), critical paths
(`serving_stages`), router counts (`cascade`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from monitor.contract import ColumnRole, ColumnType, Contract
from monitor.contract_quality import ServiceObjective
from monitor.layout import Layout
from monitor.profiles.arrays import AnyArray, Floats, Integers, totals_by_key
from monitor.profiles.cascade import cascade_codes, cascade_name
from monitor.profiles.groups import membership
from monitor.profiles.log_cells import REST_BITS, cell_bounds, log_tables
from monitor.profiles.part import Part
from monitor.profiles.rows import RequestRows
from monitor.profiles.serving_derived import add_derived
from monitor.profiles.serving_rows import LOG, MISSING, ServingRows
from monitor.profiles.serving_splits import add_splits
from monitor.profiles.serving_stages import add_stages
from monitor.profiles.serving_sums import add_ratios
from monitor.profiles.serving_words import add_flags, add_words
from monitor.records import RequestOutcome

OUTCOME, REASON, GOOD = "outcome", "reason/", "good/"
OUTCOME_SLOTS = 16
MAX_REASON_LENGTH = 100
_ROLES = frozenset({ColumnRole.TIMING, ColumnRole.COUNT, ColumnRole.COST})
_TYPES = frozenset({ColumnType.NUMBER, ColumnType.INTEGER})
_ANSWERS = (int(RequestOutcome.ANSWERED), int(RequestOutcome.CACHED))
_VARIABLE = re.compile(r"[0-9a-fA-F]{8}[0-9a-fA-F-]*|\d+")


class Quantile(NamedTuple):
    """A quantile's value, and the largest relative error the cell's width can have caused."""

    value: float
    relative_error: float


@dataclass(frozen=True)
class LogTotals:
    """n values, how many rows had none, and the sum (within 2⁻³⁶ of the sum of absolute values)."""

    n: int
    missing: int
    total: float


def serving_columns(contract: Contract) -> tuple[str, ...]:
    """Number and integer columns with the role timing, count or cost."""
    return tuple(c.name for c in contract.columns if c.role in _ROLES and c.type in _TYPES)


def build_serving_parts(
    rows: RequestRows, contract: Contract, layout: Layout, groups: AnyArray, n_groups: int
) -> list[Part]:
    """One serving part a group; `groups` int[n] or int[n, k], negative leaves the row out."""
    wide = membership(groups, len(rows))
    places, k = np.nonzero(wide >= 0)
    members = wide[places, k]
    dense = [{OUTCOME: counts} for counts in _outcomes(rows, places, members, n_groups)]
    _add_reasons(dense, rows, places, members)
    if contract.objective is not None:
        _add_good(dense, rows, layout, contract.objective, (places, members))
    sparse: list[dict[str, tuple[Integers, Integers]]] = [{} for _ in range(n_groups)]
    serving = ServingRows(rows, layout, places, members, n_groups, dense, sparse)
    measured = serving_columns(contract)
    for name in measured:
        _add_measured(serving, name)
    _add_more(serving, contract, measured)
    return [Part(dense[group], sparse[group]) for group in range(n_groups)]


def _add_measured(serving: ServingRows, name: str) -> None:
    values = serving.number(name)
    absent = np.isnan(values)
    missing = np.bincount(serving.members[absent], minlength=serving.n_groups)
    tables = log_tables(values[~absent], serving.members[~absent], serving.n_groups)
    for group in range(serving.n_groups):
        serving.dense[group][MISSING + name] = missing[group : group + 1].astype(np.int64)
        serving.sparse[group][LOG + name] = tables[group]


def _add_more(serving: ServingRows, contract: Contract, measured: tuple[str, ...]) -> None:
    add_words(serving, contract)
    add_flags(serving, contract)
    add_splits(serving, contract, measured)
    add_ratios(serving, contract, measured)
    add_derived(serving, contract)
    add_stages(serving, contract)
    cascade = contract.cascade
    if cascade is not None and cascade.threshold is not None:
        codes = cascade_codes(serving.rows, cascade, serving.layout)[serving.places]
        serving.add_counts(cascade_name(cascade), codes, 4)


def _outcomes(rows: RequestRows, places: Integers, members: Integers, n_groups: int) -> Integers:
    keys = members * OUTCOME_SLOTS + rows.outcome[places]
    counts = np.bincount(keys, minlength=n_groups * OUTCOME_SLOTS)
    return counts.reshape(n_groups, OUTCOME_SLOTS).astype(np.int64)


def _add_reasons(
    dense: list[dict[str, Integers]], rows: RequestRows, places: Integers, members: Integers
) -> None:
    if rows.outcome_reason.null_count == len(rows):
        return
    encoded = rows.outcome_reason.dictionary_encode()
    texts = [plain_reason(text) for text in encoded.dictionary.to_pylist()]
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)[places].astype(np.int64)
    given = codes >= 0
    shape = (len(dense), OUTCOME_SLOTS, len(texts))
    keys = np.ravel_multi_index((members[given], rows.outcome[places][given], codes[given]), shape)
    found, totals = totals_by_key(keys.astype(np.int64), ())
    indices = np.unravel_index(found, shape)
    for group, outcome, code, total in zip(*indices, totals[:, 0], strict=True):
        name = f"{REASON}{outcome}/{texts[code]}"
        counts = dense[group].setdefault(name, np.zeros(1, np.int64))
        counts[0] += total


def _add_good(
    dense: list[dict[str, Integers]],
    rows: RequestRows,
    layout: Layout,
    objective: ServiceObjective,
    membership: tuple[Integers, Integers],
) -> None:
    places, members = membership
    values = rows.number_column(layout.slot(objective.column).number_start)[places]
    good = np.isin(rows.outcome[places], _ANSWERS) & (values <= objective.at_most)
    counts = np.bincount(members[good], minlength=len(dense)).astype(np.int64)
    for group, found in enumerate(dense):
        found[good_name(objective)] = counts[group : group + 1]


def good_name(objective: ServiceObjective) -> str:
    """The name under which a serving part counts requests within an objective."""
    return f"{GOOD}{objective.column}/{objective.at_most!r}"


def good_counts(part: Part, objective: ServiceObjective) -> int | None:
    """Requests answered within the objective; None when the part was counted without it."""
    counts = part.dense.get(good_name(objective))
    return None if counts is None else int(counts[0])


def plain_reason(text: str) -> str:
    """A reason with numbers and identifiers replaced by `#`, at most 100 characters long."""
    return _VARIABLE.sub("#", text)[:MAX_REASON_LENGTH]


def outcome_counts(part: Part) -> dict[RequestOutcome, int]:
    """Requests by outcome, every outcome named."""
    counts = part.dense.get(OUTCOME, np.zeros(OUTCOME_SLOTS, np.int64))
    return {outcome: int(counts[int(outcome)]) for outcome in RequestOutcome}


def reason_counts(part: Part) -> dict[tuple[RequestOutcome, str], int]:
    """Requests by outcome and reason, for those that gave one."""
    found = {}
    for name, counts in part.dense.items():
        if name.startswith(REASON):
            outcome, _, text = name.removeprefix(REASON).partition("/")
            found[RequestOutcome(int(outcome)), text] = int(counts[0])
    return found


def value_counts(part: Part, column: str) -> tuple[Floats, Integers]:
    """A column's cells in ascending order: the value that stands for each, and its count."""
    keys, values = part.sparse.get(
        LOG + column, (np.zeros(0, np.int64), np.zeros((0, 2), np.int64))
    )
    low, high = cell_bounds(keys)
    middle = low / (0.5 + 0.5 * (low / high))
    signed = np.where(keys < 0, -middle, middle)
    order = np.argsort(signed, kind="stable")
    return signed[order], values[order, 0]


def quantile(part: Part, column: str, q: float) -> Quantile | None:
    """The q-quantile of a column (the value of rank ceil(q · n)); None without values.

    The value is the harmonic middle of its cell, so it is off by at most 1/129 of itself.
    """
    middles, counts = value_counts(part, column)
    n = int(counts.sum())
    if n == 0:
        return None
    rank = max(1, int(np.ceil(q * n)))
    value = float(middles[np.searchsorted(np.cumsum(counts), rank)])
    return Quantile(value, 0.0 if value == 0 else 1 / 129)


def log_totals(part: Part, column: str) -> LogTotals:
    """Count, missing rows and sum of a column."""
    keys, values = part.sparse.get(
        LOG + column, (np.zeros(0, np.int64), np.zeros((0, 2), np.int64))
    )
    low, high = cell_bounds(keys)
    step = (high - low) / 2.0**REST_BITS
    sums = np.where(keys == 0, 0.0, values[:, 0] * low + values[:, 1] * step)
    missing = part.dense.get(MISSING + column, np.zeros(1, np.int64))
    total = float(np.where(keys < 0, -sums, sums).sum())
    return LogTotals(int(values[:, 0].sum()), int(missing[0]), total)
