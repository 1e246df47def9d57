"""How likely each row is a current one, told by a classifier that never saw its entity.

Knows group numbers of columns. Logistic regression on indicators of the groups: smooth enough that
its answers are probabilities, and refitted in milliseconds for each bootstrap sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse, special

from monitor.profiles.arrays import Floats, Integers

FOLDS = 3
PENALTY = 1.0
_STEPS, _REFITTING_STEPS = 25, 2
_CONVERGED = 1e-8


@dataclass(frozen=True, eq=False)
class Domain:
    """Rows of both sides: `indicators` float64[n, groups], `is_current` 0 or 1, `fold` int64[n]."""

    indicators: sparse.csr_array
    is_current: Floats
    fold: Integers

    @classmethod
    def of(
        cls, groups: Integers, sizes: Sequence[int], is_current: Floats, entities: Integers
    ) -> Self:
        """`groups` int64[columns, n] below `sizes`; rows of an entity share a fold."""
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        n = groups.shape[1]
        places = (groups + offsets[:-1, None] + 1).T.ravel()
        columns = np.column_stack([np.zeros(n, np.int64), places.reshape(n, -1)]).ravel()
        width = len(sizes) + 1
        indicators = sparse.csr_array(
            (np.ones(n * width), columns, np.arange(0, n * width + 1, width)),
            shape=(n, int(offsets[-1]) + 1),
        )
        return cls(indicators, is_current, _folds(entities))

    def probabilities(self, drawn: Floats, starts: Floats | None = None) -> tuple[Floats, Floats]:
        """P(current) of every row with both sides equally likely, float64[n], and coefficients.

        `drawn` float64[n] says how often each row counts. `starts` float64[folds, groups] are
        coefficients to start from: two Newton steps then do.
        """
        answers = np.empty(len(self.is_current))
        coefficients = np.zeros((FOLDS, self.indicators.shape[1]))
        for fold in range(FOLDS):
            inside = self.fold == fold
            weights = self._balanced(np.where(inside, 0.0, drawn))
            start = None if starts is None else starts[fold]
            coefficients[fold] = self._fitted(weights, start)
            answers[inside] = special.expit(self.indicators[inside] @ coefficients[fold])
        return answers, coefficients

    def _balanced(self, drawn: Floats) -> Floats:
        """Row weights with which both sides weigh the same."""
        now, then = drawn * self.is_current, drawn * (1 - self.is_current)
        half = drawn.sum() / 2
        return np.asarray(
            now * (half / max(now.sum(), 1e-300)) + then * (half / max(then.sum(), 1e-300))
        )

    def _fitted(self, weights: Floats, start: Floats | None) -> Floats:
        """Coefficients by Newton's method with a ridge penalty on all but the intercept."""
        used = weights > 0
        rows, target, weights = self.indicators[used], self.is_current[used], weights[used]
        penalty = np.full(rows.shape[1], PENALTY)
        penalty[0] = 1e-6
        found = np.zeros(rows.shape[1]) if start is None else start.copy()
        for _ in range(_STEPS if start is None else _REFITTING_STEPS):
            chance = special.expit(rows @ found)
            slope = rows.T @ (weights * (target - chance)) - penalty * found
            spread = np.maximum(weights * chance * (1 - chance), 1e-12)
            curvature = (rows.T @ sparse.csr_array(rows.multiply(spread[:, None]))).toarray()
            step = np.linalg.solve(curvature + np.diag(penalty), slope)
            found = found + step
            if float(np.abs(step).max()) < _CONVERGED:
                break
        return np.asarray(found, np.float64)


def _folds(entities: Integers) -> Integers:
    """A fold for each entity by a mix of its hash (SplitMix64), int64[n]."""
    bits = entities.astype(np.uint64)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    bits = bits ^ (bits >> np.uint64(33))
    return (bits % np.uint64(FOLDS)).astype(np.int64)
