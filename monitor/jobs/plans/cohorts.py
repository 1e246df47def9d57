"""The labels of one subject and window as a cohort: maturity, strata, and what follows for numbers.

A final cohort is known from its merged part alone; one that still waits is taken apart into its
hours or days, as its requests are of different ages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from monitor.checks.maturity.cohort import FINAL_FROM, Maturity, MaturityState, Stratum
from monitor.checks.maturity.weighting import Weight, weight_of
from monitor.contract import Contract
from monitor.jobs.maturity.known import LabelDelays, Piece, is_closed, maturity_of, strata_of
from monitor.measurement import Measured, Outcome
from monitor.profiles.label_delays import ClassDelays, delays_by_class
from monitor.profiles.part import Part, merge
from monitor.store.profile_rows import StoredProfile
from monitor.windows import Window


@dataclass(frozen=True, eq=False)
class CohortPiece:
    """One age of a cohort: its part, and its strata by predicted class (-1: no class)."""

    part: Part
    strata: dict[int, Stratum]


@dataclass(frozen=True, eq=False)
class CohortLabels:
    """A cohort: maturity, rows by predicted class of the whole, and its pieces by age."""

    maturity: Maturity
    by_class: dict[int, ClassDelays]
    pieces: tuple[CohortPiece, ...]

    @property
    def strata(self) -> list[Stratum]:
        """All strata of all pieces."""
        return [one for piece in self.pieces for one in piece.strata.values()]

    @property
    def is_final(self) -> bool:
        """Whether nothing more is waited for."""
        return self.maturity.state is MaturityState.FINAL

    def weight(self, piece: CohortPiece, predicted: int) -> Weight | None:
        """The weight of a predicted class's labelled rows in a piece; None without a curve."""
        stratum = piece.strata.get(predicted)
        if stratum is None:
            return Weight(1.0, 0.0, False)  # no row is weighed by it
        return weight_of(stratum, self.maturity.state, stratum.labelled / stratum.n)


def cohort_of(
    part: Part,
    stored: Sequence[StoredProfile],
    window: Window,
    leg: str,
    segment_id: int,
    contract: Contract,
    delays: LabelDelays,
    now: datetime,
) -> CohortLabels:
    """The cohort of a merged part and the stored hours or days that it was merged from."""
    by_class = delays_by_class(part)
    whole = strata_of([Piece(window, by_class)], delays, leg, segment_id)
    n, labelled = sum(one.n for one in whole), sum(one.labelled for one in whole)
    if not is_closed(window, contract, now) and labelled < FINAL_FROM * n:
        pieces = [
            _piece(its_part, strata_of([Piece(each, delays_by_class(its_part))], delays, leg,
                                       segment_id))
            for each, its_part in _by_window(stored, window, part)
        ]  # fmt: skip
        strata = [one for piece in pieces for one in piece.strata.values()]
        maturity = maturity_of(strata, window, delays, contract, now)
        if maturity.state is not MaturityState.FINAL:
            return CohortLabels(maturity, by_class, tuple(pieces))
        return CohortLabels(maturity, by_class, (_piece(part, whole),))
    maturity = maturity_of(whole, window, delays, contract, now)
    return CohortLabels(maturity, by_class, (_piece(part, whole),))


def with_detail(outcome: Outcome, told: dict[str, Any]) -> Outcome:
    """The outcome with more told in its detail."""
    return replace(outcome, detail={**outcome.detail, **told})


def without_limits(outcome: Outcome) -> Outcome:
    """A number whose interval would claim more than is known."""
    if not isinstance(outcome, Measured):
        return outcome
    return replace(outcome, low=None, high=None, level=None)


def _piece(part: Part, strata: Sequence[Stratum]) -> CohortPiece:
    return CohortPiece(part, {one.predicted: one for one in strata})


def _by_window(
    stored: Sequence[StoredProfile], window: Window, part: Part
) -> list[tuple[Window, Part]]:
    """Parts of the same hour or day together, whatever deployment they are of."""
    found: dict[Window, list[Part]] = defaultdict(list)
    for one in stored:
        start = one.key.window_start
        found[Window(start, start + one.key.grain.length)].append(one.part)
    return [(each, merge(parts)) for each, parts in sorted(found.items())] or [(window, part)]
