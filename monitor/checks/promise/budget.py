"""Shares a month's budget of false alarms over everything that is tested. Pure.

The expected number of false firings is the sum of all levels, whatever depends on whatever
(linearity of expectation), so dividing promise x 1/2 over a month's tests keeps the promise. The
half is kept back for what the levels can't know: healthy weeks unlike those learned from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.checks.promise.baseline import SeasonalBaseline
from monitor.checks.promise.scales import SCALES
from monitor.profiles.arrays import Flags, Floats

INTERNAL = 0.5
SEGMENT_SHARE, CONTRAST_SHARE, PAIRS_SHARE, CLASSIFIER_SHARE = 0.2, 0.15, 0.05, 0.05


@dataclass(frozen=True)
class Budget:
    """`promise`: false drift incidents a model and 30 days that are allowed, above 0.

    `contrast`, `pairs`, `classifier` say whether those are tested too; what is not tested leaves
    its share to the columns. `governor` <= 1 is the factor that false alarms told by people leave.
    """

    promise: float = 1.0
    contrast: bool = False
    pairs: bool = False
    classifier: bool = False
    governor: float = 1.0

    def __post_init__(self) -> None:
        if not (self.promise > 0 and 0 < self.governor <= 1):
            raise AssertionError(f"promise {self.promise} and governor {self.governor} are above 0")

    @property
    def spendable(self) -> float:
        """False firings a month that all levels may add up to."""
        return self.promise * INTERNAL * self.governor

    @property
    def contrast_level(self) -> float:
        """The monthly budget of the contrasts of deployments."""
        return self.spendable * CONTRAST_SHARE * self.contrast

    @property
    def pairs_level(self) -> float:
        """The monthly budget of the correlations."""
        return self.spendable * PAIRS_SHARE * self.pairs

    @property
    def classifier_level(self) -> float:
        """The monthly budget of the domain classifier."""
        return self.spendable * CLASSIFIER_SHARE * self.classifier

    def levels(self, baseline: SeasonalBaseline) -> Floats:
        """The level of one test of each column and scale, float64[columns, scales]; 0 where none.

        Columns share by weight, segments share a fifth of the whole by weight; scales and views
        that a column lacks leave their share to its others.
        """
        scale_shares = np.array([scale.share for scale in SCALES])
        windows = np.array([scale.windows_a_month for scale in SCALES])
        tested = baseline.views > 0
        shares = np.where(tested, scale_shares, 0.0)
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
        of_column = self._column_shares(baseline, np.asarray(tested.any(axis=1)))
        per_view = np.maximum(baseline.views, 1)
        return np.asarray(np.where(tested, of_column[:, None] * shares / windows / per_view, 0.0))

    def _column_shares(self, baseline: SeasonalBaseline, tested: Flags) -> Floats:
        weight = np.array([one.weight for one in baseline.columns]) * tested
        in_segment = np.array([bool(one.segment) for one in baseline.columns])
        others = self.contrast_level + self.pairs_level + self.classifier_level
        for_segments = self.spendable * SEGMENT_SHARE * bool(weight[in_segment].any())
        for_columns = self.spendable - others - for_segments
        found = np.zeros(len(weight))
        for mine, level in ((~in_segment, for_columns), (in_segment, for_segments)):
            total = weight[mine].sum()
            if total > 0:
                found[mine] = level * weight[mine] / total
        return found
