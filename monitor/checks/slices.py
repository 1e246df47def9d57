"""The worst slices: found on one half of the rows, confirmed on the other. Pure.

Only the second half gives an honest p-value; the first one is searched until something stands out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.intervals import LEVEL
from monitor.checks.slice_counts import (
    GroupedRows,
    SliceColumn,
    SliceStatistic,
    Totals,
    column_sets,
    counted,
    mean_effect,
    output_z,
    rest_z,
    share_effect,
    share_z,
)
from monitor.measurement import Failed, Outcome, TooFew
from monitor.profiles.arrays import CellNumbers, Flags, Floats, Integers

MIN_SUPPORT, MIN_SUPPORT_SHARE = 100, 0.01
MAX_COLUMNS = 30
TOP = 10
_SAME_ROWS = 0.8
_LOOKED_AT = 100


@dataclass(frozen=True, eq=False)
class SliceRows:
    """Rows to search: `cells` int[columns, n] in the order of the columns, `hashes` int64[n] keyed
    hashes of request (or entity) ids, `output` float64[n] where the statistic needs one."""

    cells: CellNumbers | Integers
    hashes: Integers
    output: Floats | None = None


@dataclass(frozen=True)
class Half:
    """The slice in one half: current rows in it, reference rows in it, z of the statistic."""

    n: int
    n_reference: int
    z: float


@dataclass(frozen=True)
class Slice:
    """`label` in words. `effect`: difference in the confirming half (of shares, or of means), with
    the two values as `now` and `then` (or `rest`) in its detail. `p_confirmed`: one-sided in the
    direction discovered, times the number of slices that were discovered, at most 1.
    """

    label: str
    columns: tuple[str, ...]
    groups: tuple[str, ...]
    discovered: Half
    confirming: Half
    effect: Outcome
    p_confirmed: float

    def confirmed(self, level: float = LEVEL) -> bool:
        """With all discovered slices together, wrong at most once in twenty searches."""
        return self.p_confirmed <= 1 - level


@dataclass(frozen=True)
class SliceSearch:
    """Discovered slices, smallest p first; `tested` slices had enough rows to be looked at."""

    statistic: SliceStatistic
    slices: tuple[Slice, ...]
    tested: int
    n: int
    n_reference: int


def worst_slices(
    columns: Sequence[SliceColumn],
    current: SliceRows,
    reference: SliceRows | None,
    statistic: SliceStatistic,
    *,
    depth: int = 2,
    top: int = TOP,
    only_higher: bool = False,
) -> SliceSearch | TooFew | Failed:
    """Slices of one or two columns that moved most, or stand out most from the rest.

    Rows fall in halves by a bit of their mixed keyed hash, so the same rows always do so alike.
    Discovery: all slices with support >= max(100, 1 % of the half's rows) — for `share` on either
    side, otherwise on both — by |z| of `share_z`, `output_z` or `rest_z`. A slice of two columns
    must beat both its parents; of slices with nearly the same rows (Jaccard index 0.8; or one the
    complement of the other) only the first stays. Confirmation: z of the at most `top` discovered
    on the other half, one-sided, Bonferroni over the discovered only (sample splitting, Cox 1975).
    `only_higher`: slices below the rest (or below what they were) are not looked for.

    TooFew when a half has fewer than 200 rows on a side. Failed when the statistic needs an output
    that is missing or not finite. Rows of one entity are not independent: hash the entity, and
    still p-values are too small when few entities make up a slice.
    """
    if len(columns) > MAX_COLUMNS:
        raise AssertionError(f"at most {MAX_COLUMNS} columns are searched, not {len(columns)}")
    sides = _sides(columns, current, reference, statistic)
    if not isinstance(sides, _Sides):
        return sides
    first, second = sides.halves(current, reference)
    smallest = min(first.smallest(), second.smallest())
    if smallest < 2 * MIN_SUPPORT:
        return TooFew(smallest, 2 * MIN_SUPPORT, "rows in each half")
    sizes = [len(column.labels) for column in columns]
    found, tested = _discovered(first, sizes, depth, top, only_higher=only_higher)
    slices = [_confirmed(columns, first, second, one, len(found)) for one in found]
    ordered = sorted(slices, key=lambda one: (one.p_confirmed, -abs(one.confirming.z)))
    return SliceSearch(statistic, tuple(ordered), tested, sides.now.n, sides.then.n)


@dataclass(frozen=True)
class _Found:
    z: float
    columns: tuple[int, ...]
    groups: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Sides:
    """Current and reference rows (none against the rest) of all rows or of one half."""

    statistic: SliceStatistic
    now: GroupedRows
    then: GroupedRows

    def halves(self, current: SliceRows, reference: SliceRows | None) -> tuple[_Sides, _Sides]:
        now = first_half(current.hashes)
        then = (
            first_half(reference.hashes) if self.has_reference and reference else np.zeros(0, bool)
        )
        return (
            _Sides(self.statistic, self.now.among(now), self.then.among(then)),
            _Sides(self.statistic, self.now.among(~now), self.then.among(~then)),
        )

    @property
    def has_reference(self) -> bool:
        return self.statistic is not SliceStatistic.AGAINST_REST

    def smallest(self) -> int:
        return min(self.now.n, self.then.n) if self.has_reference else self.now.n

    def z(self, now: Totals, then: Totals) -> Floats:
        match self.statistic:
            case SliceStatistic.SHARE:
                return share_z(now, then, self.now.whole, self.then.whole)
            case SliceStatistic.OUTPUT:
                return output_z(now, then)
            case _:
                return rest_z(now, self.now.whole)

    def supported(self, now: Totals, then: Totals) -> Flags:
        enough: Flags = now.n >= _support(self.now.n)
        if self.statistic is SliceStatistic.SHARE:
            return enough | (then.n >= _support(self.then.n))
        return enough & (then.n >= _support(self.then.n)) if self.has_reference else enough

    def flags(self, found: _Found) -> tuple[Flags, Flags]:
        return (
            self.now.flags(found.columns, found.groups),
            self.then.flags(found.columns, found.groups),
        )


def first_half(hashes: Integers) -> Flags:
    """Which rows fall in the first half: a bit of the hash after mixing (SplitMix64, Steele 2014).

    Mixing keeps halves equal for hashes that share their low bits.
    """
    bits = hashes.astype(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    halves: Flags = ((bits >> np.uint64(31)) & np.uint64(1)).astype(np.bool_)
    return halves


def _support(n: int) -> float:
    return max(MIN_SUPPORT, MIN_SUPPORT_SHARE * n)


def _sides(
    columns: Sequence[SliceColumn],
    current: SliceRows,
    reference: SliceRows | None,
    statistic: SliceStatistic,
) -> _Sides | Failed:
    used = [current]
    if statistic is not SliceStatistic.AGAINST_REST:
        if reference is None:
            return Failed("the statistic compares with reference rows, but there are none")
        used.append(reference)
    grouped = []
    for rows in used:
        output = np.zeros(len(rows.hashes)) if rows.output is None else rows.output
        needs = statistic is not SliceStatistic.SHARE
        if needs and (rows.output is None or not np.isfinite(output).all()):
            return Failed("the statistic needs a finite output for every row")
        groups = [column.group_of_cell[rows.cells[k]] for k, column in enumerate(columns)]
        grouped.append(GroupedRows(np.stack(groups).astype(np.int64, copy=False), output))
    nobody = GroupedRows(np.zeros((len(columns), 0), np.int64), np.zeros(0))
    return _Sides(statistic, grouped[0], grouped[1] if len(grouped) > 1 else nobody)


def _discovered(
    half: _Sides, sizes: Sequence[int], depth: int, top: int, *, only_higher: bool
) -> tuple[list[_Found], int]:
    """The slices to confirm, largest |z| first, and how many were looked at."""
    parents: dict[int, Floats] = {}
    candidates: list[_Found] = []
    tested = 0
    for chosen in column_sets(len(sizes), depth):
        now = counted(half.now, chosen, sizes, half.statistic)
        then = counted(half.then, chosen, sizes, half.statistic)
        z, supported = half.z(now, then), half.supported(now, then)
        tested += int(supported.sum())
        if len(chosen) == 1:
            parents[chosen[0]] = z
        shape = [sizes[column] for column in chosen]
        looked_at = supported & (z > 0) if only_higher else supported
        worth = np.flatnonzero(looked_at & _beats_parents(z, chosen, shape, parents))
        for place in worth[np.argsort(-np.abs(z[worth]), kind="stable")[:top]].tolist():
            groups = tuple(int(group) for group in np.unravel_index(place, shape))
            candidates.append(_Found(float(z[place]), chosen, groups))
    candidates.sort(key=lambda one: (-abs(one.z), one.columns, one.groups))
    return _distinct(half, candidates[:_LOOKED_AT], top), tested


def _beats_parents(
    z: Floats, chosen: Sequence[int], shape: Sequence[int], parents: dict[int, Floats]
) -> Flags:
    """True where |z| is above that of each single column of the slice, and not 0."""
    size = np.abs(z).reshape(shape)
    better: Flags = size > 0
    if len(chosen) > 1:
        for axis, column in enumerate(chosen):
            along = [1] * len(shape)
            along[axis] = shape[axis]
            better = better & (size > np.abs(parents[column]).reshape(along))
    return better.ravel()


def _distinct(half: _Sides, candidates: Sequence[_Found], top: int) -> list[_Found]:
    kept: list[_Found] = []
    flags: list[Flags] = []
    for one in candidates:
        own = np.concatenate(half.flags(one))
        if not any(_same(own, other) or _same(~own, other) for other in flags):
            kept.append(one)
            flags.append(own)
        if len(kept) == top:
            break
    return kept


def _same(one: Flags, other: Flags) -> bool:
    together = int((one | other).sum())
    return together > 0 and int((one & other).sum()) >= _SAME_ROWS * together


def _confirmed(
    columns: Sequence[SliceColumn], first: _Sides, second: _Sides, found: _Found, tries: int
) -> Slice:
    names = tuple(columns[column].name for column in found.columns)
    groups = tuple(
        columns[column].labels[group]
        for column, group in zip(found.columns, found.groups, strict=True)
    )
    inside = first.flags(found)
    discovered = Half(int(inside[0].sum()), int(inside[1].sum()), found.z)
    now, then = (side.among(flags).whole for side, flags in _inside(second, found))
    z = float(second.z(now, then))
    p_value = float(special.ndtr(-z * np.sign(found.z)))
    return Slice(
        " and ".join(f"{name} = {group}" for name, group in zip(names, groups, strict=True)),
        names,
        groups,
        discovered,
        Half(int(now.n), int(then.n), z),
        _effect(second, now, then),
        min(1.0, tries * p_value),
    )


def _inside(sides: _Sides, found: _Found) -> list[tuple[GroupedRows, Flags]]:
    return list(zip((sides.now, sides.then), sides.flags(found), strict=True))


def _effect(sides: _Sides, now: Totals, then: Totals) -> Outcome:
    if sides.statistic is SliceStatistic.SHARE:
        return share_effect(now, then, sides.now.n, sides.then.n)
    if sides.has_reference:
        return mean_effect(now, then, "then")
    whole = sides.now.whole
    rest = Totals(whole.n - now.n, whole.sums - now.sums, whole.squares - now.squares)
    return mean_effect(now, rest, "rest")
