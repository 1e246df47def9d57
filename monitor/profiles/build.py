"""Builds profiles from request rows: every group of rows at once, tile by tile.

A group is one deployment, segment and window; the caller numbers them. A row may belong to several
groups: its cells are found once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

import numpy as np

from monitor.contract import Contract
from monitor.layout import Layout, Slot
from monitor.profiles.arrays import AnyArray, Floats, Integers, totals_by_key
from monitor.profiles.binning import Binning
from monitor.profiles.cells import CategoryCells, NumberCells
from monitor.profiles.columns import CELLS, SUMS, VIOLATIONS
from monitor.profiles.groups import TileGroups, membership
from monitor.profiles.pairs import PAIR_N, PAIR_SUM, pair_views
from monitor.profiles.part import Part, PartKind
from monitor.profiles.rows import NumberTile, RequestRows
from monitor.profiles.serving import build_serving_parts
from monitor.profiles.tally import CategoryTally, NumberTally, PairsTally
from monitor.profiles.view_values import category_values, derive_all, filled_lengths
from monitor.profiles.views import Derivation, View, views_of
from monitor.records import VIOLATION_BASE

TILE_ROWS = 16_384
_TILE_NUMBERS = 2**19
_BLOCK_SLOTS = 32
DEFAULT_KINDS = frozenset({PartKind.COLUMNS, PartKind.PAIRS})


def build_parts(
    rows: RequestRows,
    binning: Binning,
    contract: Contract,
    layout: Layout,
    groups: AnyArray,
    n_groups: int,
    kinds: Collection[PartKind] = DEFAULT_KINDS,
) -> list[dict[PartKind, Part]]:
    """The parts of each group's profile, one dict a group, empty groups included.

    `groups` int[n], or int[n, k] when rows belong to several groups; a negative number leaves the
    row out. Views that the binning does not hold are skipped. Labels come from prediction blocks
    (`label_tables`), not from here; serving parts on request.
    """
    wide = membership(groups, len(rows))
    builder = _Builder(rows, binning, contract, layout, n_groups, PartKind.PAIRS in kinds)
    if {PartKind.COLUMNS, PartKind.PAIRS} & set(kinds):
        builder.read(wide)
    serving: Sequence[Part] = ()
    if PartKind.SERVING in kinds:
        serving = build_serving_parts(rows, contract, layout, wide, n_groups)
    violations = _violation_counts(rows, layout, wide, n_groups)
    built = []
    for group in range(n_groups):
        parts: dict[PartKind, Part] = {}
        if PartKind.COLUMNS in kinds:
            parts[PartKind.COLUMNS] = Part(builder.columns_of(group) | violations[group])
        if PartKind.PAIRS in kinds:
            parts[PartKind.PAIRS] = builder.pairs_of(group)
        if PartKind.SERVING in kinds:
            parts[PartKind.SERVING] = serving[group]
        built.append(parts)
    return built


class _Builder:
    """The tallies of all views while tiles pass by."""

    def __init__(
        self,
        rows: RequestRows,
        binning: Binning,
        contract: Contract,
        layout: Layout,
        n_groups: int,
        with_pairs: bool,
    ) -> None:
        self._rows = rows
        slots = {slot.name: slot for slot in layout.active_slots()}
        self._slots: dict[str, Slot] = {}
        self._numbers: dict[str, NumberTally] = {}
        self._categories: dict[str, CategoryTally] = {}
        self._number_views: list[View] = []
        self._category_views: list[View] = []
        for view in views_of(contract):
            cells = binning.views.get(view.name)
            self._slots[view.name] = slots[view.column.name]
            if isinstance(cells, NumberCells) and not view.is_category:
                self._numbers[view.name] = NumberTally(cells, n_groups)
                self._number_views.append(view)
            elif isinstance(cells, CategoryCells) and view.is_category:
                self._categories[view.name] = CategoryTally(cells, n_groups)
                self._category_views.append(view)
        self._pairs = _PairScores(binning, n_groups) if with_pairs else None
        self._blocks = self._close_together()

    def read(self, wide: Integers) -> None:
        """Count all rows."""
        step = self._tile_rows()
        for start in range(0, len(self._rows), step):
            stop = min(start + step, len(self._rows))
            memberships = [TileGroups.of(wide[start:stop, k]) for k in range(wide.shape[1])]
            self._read_tile(start, stop, memberships)

    def _tile_rows(self) -> int:
        widest = max((self._width(view) for view in self._number_views), default=1)
        return max(256, min(TILE_ROWS, _TILE_NUMBERS // max(1, widest)))

    def _read_tile(self, start: int, stop: int, memberships: Sequence[TileGroups]) -> None:
        tile = self._rows.number_tile(start, stop)
        if self._pairs is not None:
            self._pairs.begin(stop - start)
        for block in self._blocks:
            for view, values in self._values(block, tile, start, stop):
                cells = self._numbers[view.name].add(values, memberships)
                if self._pairs is not None:
                    self._pairs.put(view.name, cells)
        if self._pairs is not None:
            self._pairs.end(memberships)
        for view in self._category_views:
            texts = category_values(self._rows, view, start, stop)
            self._categories[view.name].add(texts, memberships)

    def _close_together(self) -> list[list[View]]:
        """Number views whose slots lie close together, to be copied out of the rows at once."""
        ordered = sorted(self._number_views, key=self._first)
        blocks: list[list[View]] = []
        for view in ordered:
            end = self._first(view) + self._width(view)
            if blocks and (
                view.column == blocks[-1][-1].column
                or end - self._first(blocks[-1][0]) <= _BLOCK_SLOTS
            ):
                blocks[-1].append(view)
            else:
                blocks.append([view])
        return blocks

    def _values(
        self, block: list[View], tile: NumberTile, start: int, stop: int
    ) -> list[tuple[View, Floats]]:
        first = self._first(block[0])
        last = max(self._first(view) + self._width(view) for view in block)
        slots = tile.slots(first, last)
        found: list[tuple[View, Floats]] = []
        for _, members in groupby(block, key=lambda view: view.column.name):
            views = list(members)
            if views[0].derivation is Derivation.FILLED:
                found.append((views[0], filled_lengths(self._rows, views[0], start, stop)))
                continue
            at = self._first(views[0]) - first
            held = slots[at : at + self._width(views[0])]
            found.extend(zip(views, derive_all(views, held), strict=True))
        return found

    def _first(self, view: View) -> int:
        return self._slots[view.name].number_start

    def _width(self, view: View) -> int:
        return self._slots[view.name].number_width

    def columns_of(self, group: int) -> dict[str, Integers]:
        """The dense arrays of one group's columns part, violations apart."""
        dense: dict[str, Integers] = {}
        for name, numbers in self._numbers.items():
            dense[CELLS + name] = numbers.counts[group]
            dense[SUMS + name] = numbers.sums[group]
        for name, categories in self._categories.items():
            dense[CELLS + name] = categories.counts[group]
        return dense

    def pairs_of(self, group: int) -> Part:
        """One group's pairs part."""
        if self._pairs is None:
            return Part()
        tally = self._pairs.tally
        return Part({PAIR_SUM: tally.sums[group], PAIR_N: tally.n[group]})


class _PairScores:
    """Collects the scores of one tile's cells, view by view, and hands them to the tally."""

    def __init__(self, binning: Binning, n_groups: int) -> None:
        self._places = {name: place for place, name in enumerate(pair_views(binning))}
        numbers = {n: c for n, c in binning.views.items() if isinstance(c, NumberCells)}
        self._scores = {name: numbers[name].scores().astype(float) for name in self._places}
        self.tally = PairsTally(len(self._places), n_groups)
        self._tile = self._present = np.zeros((0, 0))

    def begin(self, n_rows: int) -> None:
        self._tile = np.zeros((len(self._places), n_rows))
        self._present = np.zeros_like(self._tile)

    def put(self, view: str, cells: AnyArray) -> None:
        place = self._places.get(view)
        if place is not None:
            scores = self._scores[view]
            self._tile[place] = scores[cells]
            self._present[place] = cells < len(scores) - 1

    def end(self, memberships: Sequence[TileGroups]) -> None:
        self.tally.add(self._tile, self._present, memberships)


def _violation_counts(
    rows: RequestRows, layout: Layout, wide: Integers, n_groups: int
) -> list[dict[str, Integers]]:
    counts: list[dict[str, Integers]] = [{} for _ in range(n_groups)]
    span = (len(layout.slots) + 1) * VIOLATION_BASE
    codes = rows.violation_codes
    for k in range(wide.shape[1]):
        groups = wide[rows.violation_rows, k]
        kept = (groups >= 0) & (codes < span)
        keys, totals = totals_by_key(groups[kept] * span + codes[kept], ())
        for key, total in zip(keys.tolist(), totals[:, 0].tolist(), strict=True):
            group, code = divmod(key, span)
            ordinal, reason = divmod(code, VIOLATION_BASE)
            name = layout.slots[ordinal - 1].name if ordinal else ""
            by_reason = counts[group].setdefault(
                VIOLATIONS + name, np.zeros(VIOLATION_BASE, np.int64)
            )
            by_reason[reason] += total
    return counts
